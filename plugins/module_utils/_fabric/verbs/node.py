# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a node with InfiniBand or RoCE cards shows of them, and of what scale-out over them needs, as values."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..._cards.accel_sysfs import attribute, pci_cards
from ..._node import environment_file
from ..._node.commands import Run
from ..._node.regular_file import read_bounded
from ..._node.rendered_files import read_text
from ..sysfs import HostNic, host_nics
from .acs import redirecting

# A PCIe function's configuration space.
_CONFIG_BYTES = 4096
# Of kernel/kallsyms.c, some hundred thousand lines; a kernel with all its modules has less than this.
_LARGEST_SYMBOLS = 1 << 26
# What the kernel's verbs have since 5.12 to take memory of another device (drivers/infiniband/core/umem_dmabuf.c).
_DMABUF_SYMBOL = b" ib_umem_dmabuf_get"


@dataclass(frozen=True)
class VerbsPort:
    """A port of a host's verbs device. ``state`` is the kernel's word, such as ACTIVE; ``mtu`` by interface."""

    device: str
    number: str
    state: str
    physical: str
    roce_v2: bool = False
    mtus: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.device} port {self.number}"


@dataclass(frozen=True)
class VerbsNode:
    """A node's verbs devices of one kind. None stands for what could not be read.

    ``redirecting`` are the PCIe bridges above cards and devices with ACS on; ``without_node`` the devices that programs
    cannot open; ``memlock`` is systemd's limit for services, ``environment`` that of jobs.
    """

    kernel: str
    ports: tuple[VerbsPort, ...] = ()
    dmabuf: bool | None = None
    redirecting: tuple[str, ...] | None = None
    uverbs: bool = False
    without_node: tuple[str, ...] = ()
    memlock: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def read_node(kind: str, environment: str, run: Run, kernel_root: str = "/") -> VerbsNode:
    """Look at the devices of ``kind`` (``infiniband`` or ``roce``) below ``kernel_root``."""
    root = Path(kernel_root)
    nics = [nic for nic in host_nics(kernel_root) if nic.kind == kind]
    devices = [root / "sys/class/infiniband" / nic.device for nic in nics]
    opened = _device_nodes(root)
    uverbs = (root / "sys/class/infiniband_verbs").is_dir()
    return VerbsNode(
        kernel=(read_text(str(root / "proc/sys/kernel/osrelease")) or "").strip(),
        ports=tuple(port for nic, device in zip(nics, devices) for port in _ports(nic, device, root)),
        dmabuf=_has_dmabuf(root) if uverbs else None,
        redirecting=_redirecting(root, [_pci_address(device) for device in devices]),
        uverbs=uverbs,
        without_node=tuple(nic.device for nic in nics if nic.device not in opened),
        memlock=_memlock(run),
        environment=environment_file.parse(read_text(environment) or "", environment),
    )


def _ports(nic: HostNic, device: Path, root: Path) -> list[VerbsPort]:
    mtus = {name: int(attribute(root / "sys/class/net" / name, "mtu") or 0) for name in nic.interfaces}
    return [
        VerbsPort(
            device=nic.device,
            number=port.name,
            state=_word(attribute(port, "state")),
            physical=_word(attribute(port, "phys_state")),
            roce_v2=_has_roce_v2(port),
            mtus=mtus,
        )
        for port in sorted((device / "ports").glob("*"))
    ]


def _word(text: str | None) -> str:
    """``ACTIVE`` of "4: ACTIVE"; the kernel's files have the number first."""
    return (text or "unknown").rpartition(": ")[2]


def _has_roce_v2(port: Path) -> bool:
    """Whether an entry of the GID table is of RoCE v2; the type of an entry that is not set cannot be read."""
    entries = (port / "gid_attrs/types").glob("*")
    return any((attribute(entry.parent, entry.name) or "") == "RoCE v2" for entry in entries)


def _pci_address(device: Path) -> str:
    lines = (attribute(device / "device", "uevent") or "").splitlines()
    named = [line.partition("=")[2] for line in lines if line.startswith("PCI_SLOT_NAME=")]
    return named[0] if named else (device / "device").resolve().name


def _redirecting(root: Path, devices: list[str]) -> tuple[str, ...] | None:
    endpoints = [address for address in devices if address.count(":") == 2]
    endpoints += [card.pci_address for card in pci_cards(str(root))]
    configs = {}
    for path in sorted((root / "sys/bus/pci/devices").glob("*")):
        # The class of PCI-to-PCI bridges.
        if (attribute(path, "class") or "").startswith("0x0604"):
            with contextlib.suppress(OSError):
                configs[path.name] = read_bounded(str(path / "config"), _CONFIG_BYTES)
    return redirecting(configs, endpoints) if configs else None


def _device_nodes(root: Path) -> set[str]:
    """Names of the verbs devices that have a device node."""
    classes = (root / "sys/class/infiniband_verbs").glob("uverbs*")
    there = [path for path in classes if (root / "dev/infiniband" / path.name).is_char_device()]
    return {attribute(path, "ibdev") or "" for path in there}


def _has_dmabuf(root: Path) -> bool | None:
    """None also for a kernel that does not tell its symbols, or the empty list of one that hides them."""
    try:
        symbols = read_bounded(str(root / "proc/kallsyms"), _LARGEST_SYMBOLS)
    except OSError:
        return None
    return _DMABUF_SYMBOL in symbols if symbols else None


def _memlock(run: Run) -> str | None:
    """systemd's default for services in bytes, or infinity."""
    done = run(["systemctl", "show", "--property=DefaultLimitMEMLOCK", "--value"])
    return done.stdout.strip() or None if done.rc == 0 else None
