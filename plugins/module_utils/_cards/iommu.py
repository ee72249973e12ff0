# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether the IOMMU translates the cards' accesses to memory: with it panics and silently wrong results were seen.

``iommu=pt`` on the kernel's command line keeps it from that. So does a kernel whose default it is, or an IOMMU that is
off; the kernel tells both by the groups of the cards (its ABI document sysfs-kernel-iommu_groups).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .accel_sysfs import attribute, pci_cards

PASSTHROUGH = "iommu=pt"
_ON, _OFF = ("1", "on", "y", "yes"), "off"
# What a group's type is where devices reach memory untranslated.
_IDENTITY = "identity"


def translates(kernel_root: str = "/") -> bool | None:
    """Whether the kernel shows that it does; None where it shows nothing (an old kernel, or no card)."""
    devices = Path(kernel_root, "sys/bus/pci/devices")
    types = [attribute(devices / card.pci_address / "iommu_group", "type") for card in pci_cards(kernel_root)]
    known = [one for one in types if one is not None]
    if known:
        return any(one != _IDENTITY for one in known)
    return False if types and _no_groups(Path(kernel_root, "sys/kernel/iommu_groups")) else None


def _no_groups(directory: Path) -> bool:
    """An IOMMU that is off, or that a virtual machine has not, makes no group."""
    return directory.is_dir() and not any(directory.iterdir())


def is_in_the_way(command_line: str | None, shown: bool | None) -> bool:
    """Whether the driver should wait for a boot with ``iommu=pt``. ``shown`` is what :func:`translates` says. Pure.

    Where the kernel shows nothing, its command line has to say so: servers come with an IOMMU that is on.
    """
    if command_line is None:
        return bool(shown)
    if shown is False or _passes_through(command_line):
        return False
    return shown is True or not _is_off(command_line)


def _passes_through(command_line: str) -> bool:
    """As the kernel's document of its parameters has them; the last word counts."""
    found = False
    for name, value in _words(command_line):
        if name == "iommu.passthrough":
            found = value in _ON
        elif name == "iommu":
            found = {"pt": True, "nopt": False}.get(value, found)
    return found


def _is_off(command_line: str) -> bool:
    return any(name in ("iommu", "intel_iommu", "amd_iommu") and value == _OFF for name, value in _words(command_line))


def _words(command_line: str) -> Iterator[tuple[str, str]]:
    """``iommu=soft,pt`` is two."""
    for word in command_line.split():
        name, _equals, values = word.partition("=")
        for value in values.split(","):
            yield name, value
