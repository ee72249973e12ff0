# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a node has of all that a release names: cards, kernels, packages, builds, firmware, engines. Only reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .._cards.accel_sysfs import accel_devices, loaded_modules, pci_cards
from .._cards.hl_smi import parse_listing
from .._cards.hlml import HlmlCard, ask_hlml
from .._cards.hlml_fields import named
from .._cards.hpu_facts import HpuFacts, SmiOutput, combine
from .._cards.node_system import read_kernel, read_system
from .._driver import dkms
from .._errors import GaudiError
from .._host.kernel import boot_kernels
from .._node import kernel_modules
from .._node.commands import Run
from .._packages.node_packages import of_node
from .._packages.package_system import Package
from .._releases.program_versions import read_versions
from .._venv.plan import installed_distributions

# The vendor's packages on every system: habanalabs-dkms here, habanalabs there.
_VENDOR_PACKAGES = "habanalabs*"
# dpkg's words for a package that is not there; of one with "config-files" only its settings are left.
_ABSENT = ("not-installed", "config-files")
# A card in reset can hold hl-smi for as long as the driver's own time-out of 30 s.
_HL_SMI_TIMEOUT_S = 60
_THROTTLING = named("throttle_reasons", "throttled_by_power", "throttled_by_thermal")


@dataclass(frozen=True)
class NodeInventory:
    """A node as its planning needs it; None and empty are "not there" or "not known".

    ``packages`` maps the vendor's installed packages to their versions, ``half_way`` names those that an interrupted
    transaction left. ``built`` maps a kernel to the driver that DKMS installed for it, ``headers`` are the kernels of
    ``kernel`` and ``next_kernel`` that modules can be built for. ``spi``, ``fit`` and ``cpld`` go by PCI address.
    ``programs`` are those of ``_releases/program_versions.py``; ``holders`` tells who has a card open. ``fault`` is a
    sentence about what could not be looked at. ``throttled`` is what keeps a card's clock low now, and
    ``throttled_ever`` what has since the driver was loaded, by HLML; None where it did not say.
    """

    generations: tuple[str, ...]
    cards: int
    boards: tuple[str, ...]
    os: str
    architecture: str
    kernel: str | None
    next_kernel: str | None = None
    headers: tuple[str, ...] = ()
    driver: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    half_way: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    built: Mapping[str, str] = field(default_factory=dict)
    spi: Mapping[str, str | None] = field(default_factory=dict)
    fit: Mapping[str, str | None] = field(default_factory=dict)
    cpld: Mapping[str, str | None] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    pytorch: str | None = None
    pytorch_release: str | None = None
    holders: tuple[str, ...] = ()
    fault: str = ""
    throttled: tuple[str, ...] | None = None
    throttled_ever: tuple[str, ...] | None = None

    @property
    def kernels(self) -> tuple[str, ...]:
        """The running kernel and the one that boots next, each once."""
        return tuple(dict.fromkeys(kernel for kernel in (self.kernel, self.next_kernel) if kernel))


def read(run: Run, kernel_root: str = "/", venv: str = "", root: str = "/") -> NodeInventory:
    """Look at this node; ``venv`` is the training environment."""
    hpu = _cards(run, kernel_root)
    vendor, fault = _vendor_packages(run, root)
    following = boot_kernels.next_kernel(run, root)
    torch, plugin = _pytorch(venv)
    driver = kernel_modules.loaded_version(kernel_root)
    throttled = _throttling(run, kernel_root)
    return NodeInventory(
        generations=hpu.generations,
        cards=hpu.count,
        boards=tuple(sorted({card.board or f"PCI id {card.pci_id}" for card in hpu.cards})),
        os=hpu.system.os,
        architecture=hpu.system.architecture,
        kernel=hpu.kernel.release,
        next_kernel=following,
        headers=_with_headers(hpu.kernel.release, following, root),
        driver=driver,
        packages={package.name: package.version for package in vendor},
        half_way=tuple(package.name for package in vendor if not package.installed),
        held=tuple(package.name for package in vendor if package.held),
        built=_built(run),
        spi={card.pci_address: card.firmware.spi for card in hpu.cards},
        fit={card.pci_address: card.firmware.fit for card in hpu.cards},
        cpld={card.pci_address: card.firmware.cpld for card in hpu.cards},
        programs=read_versions(run),
        pytorch=torch,
        pytorch_release=plugin,
        holders=tuple(map(str, kernel_modules.find_holders(kernel_root))) if driver else (),
        fault=fault,
        throttled=_reasons(card.throttled_by for card in throttled),
        throttled_ever=_reasons(_counted(card) for card in throttled),
    )


def _throttling(run: Run, kernel_root: str) -> tuple[HlmlCard, ...]:
    devices = accel_devices(kernel_root)
    if not devices:
        return ()
    return tuple(ask_hlml(run, [device.pci_address for device in devices], _THROTTLING).cards.values())


def _counted(card: HlmlCard) -> tuple[str, ...] | None:
    counters = card.throttle_counters
    return tuple(name for name, count in counters.items() if count) if counters else None


def _reasons(cards: Iterable[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """Of all cards, each once; None where no card's are known."""
    known = [reasons for reasons in cards if reasons is not None]
    return tuple(sorted({one for reasons in known for one in reasons})) if known else None


def _cards(run: Run, kernel_root: str) -> HpuFacts:
    """The cards with their firmware: one call of ``hl-smi`` where a driver holds a card, and none elsewhere."""
    devices = accel_devices(kernel_root)
    smi = SmiOutput()
    if devices:
        smi = SmiOutput(listing=parse_listing(run(["hl-smi", "-L"], timeout=_HL_SMI_TIMEOUT_S).stdout))
    modules = loaded_modules(kernel_root)
    return combine(pci_cards(kernel_root), devices, smi, modules, read_kernel(kernel_root), read_system())


def _vendor_packages(run: Run, root: str) -> tuple[list[Package], str]:
    try:
        known = of_node(run, root).query([_VENDOR_PACKAGES])
    except GaudiError as error:
        return [], str(error)
    return sorted((one for one in known.values() if one.status not in _ABSENT), key=lambda one: one.name), ""


def _with_headers(running: str | None, following: str | None, root: str) -> tuple[str, ...]:
    kernels = dict.fromkeys(kernel for kernel in (running, following) if kernel)
    return tuple(kernel for kernel in kernels if dkms.has_headers(kernel, root))


def _built(run: Run) -> dict[str, str]:
    entries = [entry for entry in dkms.read_status(run) if entry.state.startswith("installed")]
    return {entry.kernel: entry.version for entry in entries if entry.kernel}


def distributions(venv: str) -> dict[str, str]:
    """What pip has put into the environment: name to version."""
    sites = Path(venv).glob("lib/python3*/site-packages") if venv else ()
    return installed_distributions([entry.name for site in sites for entry in site.iterdir()])


def _pytorch(venv: str) -> tuple[str | None, str | None]:
    """PyTorch's version in the environment, and the release of the vendor's plugin there (``1.23.0.695``)."""
    found = distributions(venv)
    plugin = found.get("habana-torch-plugin")
    return found.get("torch"), ".".join(plugin.split(".")[:3]) if plugin else None
