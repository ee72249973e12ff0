# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""From the driver that is on a node to the one that is wanted, as values: refusals and the steps in their order.

The steps follow from what the node is like, not from what a run remembers: after an interruption the same function
gives what is left to do. Only what cannot be seen on the node comes from the marker of the interrupted run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Sequence

from .._cards import holders as card_holders
from .._errors import GaudiError
from .._node.driver_marker import FAILED, Marker
from .._node.kernel_modules import Holder, render_modules_load
from .._node.kernel_tree import kernel_tree
from .._node.steps import Step
from .._packages.package_system import Package
from .._releases.lookup import Release, find_release, release_part, version_key
from . import dkms
from .dkms import DkmsEntry
from .dkms_repair import Damage
from .kept_kernel import KeptKernel, is_headers
from .module_signing import SigningOptions
from .signing import Signing

# The vendor's packages by name, on every system.
VENDOR = "habanalabs"
# What the kernel's own driver calls itself, which udev loads for the cards it knows: that of Linux 6.12 has no version.
UNTOLD = ""
# The order of a whole change. What fails before "stop" has touched nothing that a running job needs.
ORDER = (
    "mend",
    "sign",
    "repair",
    "keep",
    "fetch",
    "require",
    "stop",
    "unload",
    "install",
    "list",
    "build",
    "prefer",
    "unhold",
    "hold",
    "load",
    "ports",
    "verify",
    "start",
    "image",
    "choose",
    "retain",
    "give_back",
)
# After these the node has to be looked at again: dkms may say nothing at all as long as its tree is damaged.
PREPARING = ("mend", "sign")
# From the first of these on, a failure leads back to the release that the node had.
TOUCHING = ("stop", "unload", "install")


@dataclass(frozen=True)
class DriverOptions:
    """What the operator asks for.

    Empty ``kernels`` are the running one and the one that boots next. ``packages`` are the vendor's, ``os_packages``
    the distribution's, where ``{kernel}`` stands for each kernel. ``others`` takes along what else of the vendor is
    installed, ``hold_kernel`` holds what would bring another kernel, ``kernel`` is the one to keep. The signing options
    are files on the node, see :class:`SigningOptions`. ``cards`` 0 wants as many as there were before. Times are in
    seconds.
    """

    release: str
    release_overrides: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    packages: Sequence[str] = ()
    os_packages: Sequence[str] = ()
    kernels: Sequence[str] = ()
    kernel: str = ""
    hold: bool = True
    hold_kernel: bool = False
    signing_key: str = ""
    signing_certificate: str = ""
    enrollment_hash_file: str = ""
    load_modules: bool = True
    load_without_passthrough: bool = False
    reload: bool = False
    stop_device_users: bool = False
    rollback: bool = True
    others: bool = True
    cards: int = 0
    kernel_root: str = field(default_factory=kernel_tree)
    build_timeout: float = 1800.0
    lock_timeout: float = 300.0
    settle_timeout: float = 120.0

    @property
    def signing(self) -> SigningOptions:
        """The files that modules are signed with."""
        return SigningOptions(self.signing_key, self.signing_certificate, self.enrollment_hash_file)


@dataclass(frozen=True)
class DriverNode:
    """What is on the node.

    ``broken`` are packages that are half installed, and ``interrupted`` says that the package manager wants to finish
    that first; ``damages`` is what a killed build left in the driver's DKMS tree. ``kernels`` are those to build for,
    ``headers`` those of them that modules can be built for, ``shadowed`` those that would load a module of another
    origin although DKMS's is there; ``kernel_packages`` bring new kernels; ``loaded`` are modules of any release,
    ``loaded_version`` what the driver calls itself (:data:`UNTOLD` where it does not), ``files`` module to file of the
    running kernel, ``boot_list`` the modules that every boot loads, ``ports_unit`` the unit that brings the external
    ports up (empty: none), ``obstacle`` why the cards' firmware forbids the change; ``iommu_in_the_way`` says that the
    IOMMU translates for the cards; ``kept`` is the kernel that the node is to keep.
    """

    running: str
    kernels: Sequence[str] = ()
    packages: Mapping[str, Package] = field(default_factory=dict)
    broken: Sequence[str] = ()
    interrupted: bool = False
    damages: Sequence[Damage] = ()
    dkms: Sequence[DkmsEntry] = ()
    headers: Sequence[str] = ()
    shadowed: Sequence[str] = ()
    kernel_packages: Sequence[str] = ()
    signing: Signing = field(default_factory=Signing)
    loaded: Sequence[str] = ()
    loaded_version: str | None = None
    holders: Sequence[Holder] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    boot_list: str | None = None
    ports_unit: str = ""
    cards: int = 0
    obstacle: str | None = None
    iommu_in_the_way: bool = False
    kept: KeptKernel = field(default_factory=KeptKernel)
    marker: Marker | None = None


def is_other(loaded_version: str | None, release: Release) -> bool:
    """Whether the loaded driver is of another release."""
    return loaded_version is not None and release_part(loaded_version) != release.version


def reload_required(options: DriverOptions, release: Release, node: DriverNode) -> bool:
    """Whether another release's driver is loaded than the wanted one."""
    return options.load_modules and is_other(node.loaded_version, release)


def waits_for_passthrough(options: DriverOptions, node: DriverNode) -> bool:
    """Whether the modules are not to be loaded before a boot with ``iommu=pt``.

    A driver that is loaded, or was before a change that did not come to its end, does not wait.
    """
    before = node.marker is not None and is_unfinished(node) and bool(node.marker.previous)
    first = not before and not node.loaded
    return node.iommu_in_the_way and first and options.load_modules and not options.load_without_passthrough


def is_unfinished(node: DriverNode) -> bool:
    """Whether an earlier change of release did not come to its end."""
    return node.marker is not None and (node.marker.interrupted or node.marker.state == FAILED)


def previous_release(options: DriverOptions, node: DriverNode) -> Release | None:
    """The release that the node goes back to when the change fails: the one it had before anything was begun."""
    if node.marker is not None and is_unfinished(node):
        return _known(options, node.marker.previous)
    loaded = _known(options, release_part(node.loaded_version or ""))
    driver = node.packages.get(f"{VENDOR}-dkms")
    return loaded or (_known(options, driver.version) if driver and driver.installed else None)


def _known(options: DriverOptions, version: str) -> Release | None:
    try:
        return find_release(version, options.release_overrides) if version else None
    except GaudiError:
        return None


def is_change(options: DriverOptions, release: Release, node: DriverNode) -> bool:
    """Whether the node has another release than the wanted one, or is on its way between two."""
    previous = previous_release(options, node)
    return is_unfinished(node) or is_other(node.loaded_version, release) or previous not in (None, release)


def vendor_packages(node: DriverNode) -> dict[str, Package]:
    """What is installed of the vendor's packages, whole or half."""
    return {
        name: package
        for name, package in node.packages.items()
        if name.startswith(VENDOR) and package.status not in ("not-installed", "config-files")
    }


def wanted_packages(options: DriverOptions, node: DriverNode) -> list[str]:
    """The vendor's packages that have to be at the release: the named ones, and all others that are installed."""
    others = sorted(vendor_packages(node)) if options.others else []
    return list(dict.fromkeys([*options.packages, *others]))


def to_install(options: DriverOptions, release: Release, node: DriverNode) -> tuple[str, ...]:
    """Those of the wanted packages that are not there at the release."""
    lost = {name for damage in node.damages for name in damage.packages}
    wanted = wanted_packages(options, node)
    return tuple(name for name in wanted if name in lost or not _is_at(node.packages.get(name), release))


def _is_at(package: Package | None, release: Release) -> bool:
    return package is not None and package.installed and package.version == release.package_version


def required(options: DriverOptions, node: DriverNode) -> tuple[str, ...]:
    """The distribution's packages that are missing. Headers that are there, from any package, are not asked for."""
    first = node.kept.image if node.kept.image_first else ()
    names = [
        template.replace("{kernel}", kernel)
        for template in options.os_packages
        for kernel in node.kernels
        if not (kernel in node.headers and is_headers(template))
    ]
    # What comes with the image waits for it: the driver is built before that.
    names = [*(name for name in names if name not in node.kept.image), *first]
    missing = (name for name in dict.fromkeys(names) if name not in node.packages or not node.packages[name].installed)
    return tuple(missing)


def unbuilt(release: Release, node: DriverNode) -> tuple[str, ...]:
    """The kernels that would not find this release's driver, or not load it for its signature."""
    version = release.package_version
    return tuple(
        kernel
        for kernel in node.kernels
        if kernel in node.signing.unsigned or not dkms.installed_for(node.dkms, version, kernel)
    )


def refusals(options: DriverOptions, release: Release, node: DriverNode, check_mode: bool = False) -> list[str]:
    """Why nothing can be done on this node yet, a clause each. Jobs that run now do not stand against a look ahead."""
    reasons = [node.obstacle] if node.obstacle else []
    reasons += [node.kept.refusal] if node.kept.refusal else []
    # A run reads the package lists anew before it says this.
    reasons += [node.kept.unlisted] if node.kept.unlisted and not check_mode else []
    if node.kept.wanted and is_change(options, release, node) and (node.kept.image or not node.kept.running_fits):
        reasons.append(
            f"the node is to get kernel {node.kept.wanted} and another release at once: have it boot the kernel with "
            "the release that it has first"
        )
    if reload_required(options, release, node):
        # Nothing of the vendor's can work on a driver that is not his: that one goes as soon as nobody has it open.
        if not options.reload and node.loaded_version != UNTOLD:
            reasons.append(
                f"release {release_part(node.loaded_version or '')} is loaded, and changing it takes the cards from "
                "whatever runs: use the playbook upgrade_driver.yml, which drains the node first, or set reload: true"
            )
        elif not check_mode:
            reasons += _held(options, node)
        # As long as something can be prepared, it is, and nothing else: the request to enroll a key among it.
        if node.signing.barrier and not node.signing.preparations:
            reasons.append(node.signing.barrier.rstrip("."))
    asked_for = " ".join(required(options, node))
    reasons += [
        f"the headers of kernel {kernel} are missing (/lib/modules/{kernel}/build): install its headers package"
        for kernel in unbuilt(release, node)
        if kernel not in node.headers and kernel not in asked_for
    ]
    return reasons


def _held(options: DriverOptions, node: DriverNode) -> list[str]:
    left = card_holders.stubborn(node.holders) if options.stop_device_users else node.holders
    remedy = (
        "end them"
        if options.stop_device_users
        else "end them, or set stop_device_users: true for services and containers"
    )
    return [f"cards are held by {'; '.join(map(str, left))}: {remedy}"] if left else []


def plan(options: DriverOptions, release: Release, node: DriverNode) -> list[Step]:
    """The steps from ``node`` to what is wanted, in the order of ``ORDER``."""
    missing = to_install(options, release, node)
    held = {name for name, package in node.packages.items() if package.held}
    wanted = wanted_packages(options, node)
    to_hold = [name for name in wanted if options.hold and (name not in held or name in missing)]
    to_hold += [name for name in node.kernel_packages if options.hold_kernel and name not in held]
    steps = [
        Step("mend", tuple(dict.fromkeys(damage.sentence for damage in node.damages if damage.repairable))),
        Step("sign", node.signing.preparations),
        Step("repair", _to_repair(node, missing)),
        Step("keep", _to_keep(options, release, node)),
        # A package repository that lacks something leaves the node without a compiler too.
        Step("fetch", missing),
        Step("require", required(options, node)),
        *_unload_steps(options, release, node),
        Step("install", missing),
        Step("list", release.modules if node.boot_list != boot_list(release) else ()),
        Step("build", unbuilt(release, node)),
        Step("prefer", tuple(node.shadowed)),
        Step("unhold", tuple(name for name in wanted if not options.hold and name in held)),
        Step("hold", tuple(to_hold)),
        *_load_steps(options, release, node),
        *_kernel_steps(options, node),
    ]
    # Behind the barrier the node would be without a driver: the run ends with a refusal once all is prepared.
    ends = bool(node.signing.barrier) and reload_required(options, release, node)
    return [step for step in steps if step.names and (step.action in PREPARING or not ends)]


def _kernel_steps(options: DriverOptions, node: DriverNode) -> list[Step]:
    """Last of all: a kernel may only boot once the driver is built for it, and nothing has failed."""
    kept = node.kept
    coming = {*required(options, node), *kept.image}
    ours = [*kept.packages, *(() if options.hold_kernel else node.kernel_packages)] if kept.wanted else []
    held = {name for name, package in node.packages.items() if package.held}
    there = {name for name, package in node.packages.items() if package.installed}
    return [
        Step("image", () if kept.image_first else kept.image),
        Step("choose", (kept.wanted,) if kept.undone else ()),
        Step("retain", tuple(name for name in ours if name in coming | there and name not in held)),
        Step("give_back", (kept.back_to,) if kept.back_to else ()),
    ]


def _to_repair(node: DriverNode, missing: Sequence[str]) -> tuple[str, ...]:
    """What is half installed and not about to be replaced; everything, where the package manager asks for it."""
    if node.interrupted:
        return tuple(node.broken) or ("dpkg",)
    return tuple(name for name in node.broken if name not in missing)


def boot_list(release: Release) -> str:
    """The text of the list of modules that every boot loads."""
    return render_modules_load(release.modules, release.version)


def _to_keep(options: DriverOptions, release: Release, node: DriverNode) -> tuple[str, ...]:
    """The packages of the rollback, as files: the package repository may be gone when they are needed."""
    if not options.rollback or not is_change(options, release, node):
        return ()
    return tuple(packages_before(options, release, node))


def packages_before(options: DriverOptions, release: Release, node: DriverNode) -> dict[str, str]:
    """The vendor's packages with the version to go back to; empty on a node that has nothing to go back to."""
    if node.marker is not None and is_unfinished(node):
        return dict(node.marker.packages)
    previous = previous_release(options, node)
    if previous is None or previous == release:
        return {}
    return dict.fromkeys(sorted(vendor_packages(node)), previous.package_version)


def _unload_steps(options: DriverOptions, release: Release, node: DriverNode) -> list[Step]:
    if not reload_required(options, release, node):
        return []
    loaded = _known(options, release_part(node.loaded_version or "")) or release
    rest = tuple(name for name in node.loaded if name not in loaded.unload_order)
    return [
        Step("stop", card_holders.names(node.holders) if options.stop_device_users else ()),
        Step("unload", (*rest, *(name for name in loaded.unload_order if name in node.loaded))),
    ]


def _load_steps(options: DriverOptions, release: Release, node: DriverNode) -> list[Step]:
    waits = waits_for_passthrough(options, node) or not node.kept.running_fits
    if not options.load_modules or node.signing.barrier or waits:
        return []
    reloaded = reload_required(options, release, node)
    steps = [Step("load", tuple(name for name in release.modules if reloaded or name not in node.loaded))]
    if reloaded or is_unfinished(node):
        stopped = card_holders.names(node.holders) if reloaded and options.stop_device_users else ()
        earlier = node.marker.stopped if node.marker is not None and is_unfinished(node) else ()
        steps.append(Step("ports", (node.ports_unit,) if node.ports_unit else ()))
        steps.append(Step("verify", (str(wanted_cards(options, node)),)))
        steps.append(Step("start", tuple(dict.fromkeys([*earlier, *stopped]))))
    return steps


def wanted_cards(options: DriverOptions, node: DriverNode) -> int:
    """How many cards have to be there after a change."""
    before = node.marker.cards if node.marker is not None and is_unfinished(node) else node.cards
    return options.cards or before


def outcome(previous: Release | None, release: Release, changed: bool) -> str:
    """One word for what was done: unchanged, installed, upgraded or downgraded."""
    if not changed:
        return "unchanged"
    if previous is None or previous == release:
        return "installed"
    return "upgraded" if version_key(previous.version) < version_key(release.version) else "downgraded"
