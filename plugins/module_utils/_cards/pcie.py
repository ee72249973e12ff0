# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The cards' way to the host: generation and lanes of their PCIe links, and access control (ACS) of the bridges above.

Values are those of the kernel's sysfs-bus-pci; what a device or a virtual machine does not tell is unknown, not wrong.
"""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .._node.check import Check
from .._node.regular_file import read_bounded
from .accel_sysfs import attribute
from .hardware import generation_named
from .hpu_facts import HpuFacts

# GT/s of a lane, as the kernel's pci_speed_string() writes them.
_GENERATIONS = {"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}
_SPEED = re.compile(r"([0-9.]+) GT/s")
_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")

# Of the PCI Express specification: extended capabilities begin at 0x100 of 4096 bytes; ACS is number 0xD, and its
# control register is 6 bytes from its beginning.
_FIRST_CAPABILITY, _CONFIG_BYTES = 0x100, 0x1000
_ACS, _ACS_CONTROL = 0xD, 6


@dataclass(frozen=True)
class PcieLink:
    """A card's link as it is trained now; None is unknown."""

    generation: int | None
    lanes: int | None

    def __str__(self) -> str:
        return f"Gen{self.generation or '?'} x{self.lanes or '?'}"


def read_links(kernel_root: str, addresses: Iterable[str]) -> dict[str, PcieLink]:
    """The links of the cards at these PCI addresses."""
    return {address: _link(Path(kernel_root, "sys/bus/pci/devices", address)) for address in addresses}


def _link(device: Path) -> PcieLink:
    speed = _SPEED.match(attribute(device, "current_link_speed") or "")
    lanes = attribute(device, "current_link_width") or ""
    return PcieLink(
        _GENERATIONS.get(speed[1]) if speed else None,
        # 0 and 255 are what the kernel shows for a link that it cannot read.
        int(lanes) if re.fullmatch(r"[1-9][0-9]?", lanes) else None,
    )


def link_check(facts: HpuFacts, links: Mapping[str, PcieLink], generation: int | None, lanes: int | None) -> Check:
    """Every card's link against what its generation has, or against the least that is given."""
    bad: dict[str, list[str]] = {}
    wanted: set[str] = set()
    for card in facts.cards:
        silicon = generation_named(card.generation or "")
        own = PcieLink(silicon.pcie_generation, silicon.pcie_lanes) if silicon else PcieLink(None, None)
        least = PcieLink(generation or own.generation, lanes or own.lanes)
        link = links.get(card.pci_address, PcieLink(None, None))
        wanted.add(str(least))
        if _below(link.generation, least.generation) or _below(link.lanes, least.lanes):
            bad.setdefault(str(link), []).append(card.pci_address)
    every = sorted({str(link) for link in links.values()})
    found = "; ".join(f"{link} at {', '.join(cards)}" for link, cards in bad.items()) or ", ".join(every) or "no cards"
    return Check(
        "PCIe link",
        not bad,
        f"at least {' or '.join(sorted(wanted))} for each card" if wanted else "a link",
        found,
        "reseat the card or its riser and check the slot's settings in the BIOS; if the slot provides no more, "
        "set pcie_generation and pcie_lanes",
    )


def _below(value: int | None, least: int | None) -> bool:
    return value is not None and least is not None and value < least


def read_access_control(kernel_root: str, addresses: Iterable[str]) -> dict[str, int | None]:
    """Each bridge above the cards: the bits of ACS that are on, None where its configuration cannot be read."""
    bridges: dict[str, int | None] = {}
    for address in addresses:
        for directory in Path(kernel_root, "sys/bus/pci/devices", address).resolve().parents:
            if not _ADDRESS.fullmatch(directory.name):
                break
            if directory.name not in bridges:
                bridges[directory.name] = _control(directory)
    return dict(sorted(bridges.items()))


def _control(device: Path) -> int | None:
    with contextlib.suppress(OSError):
        return access_control(read_bounded(str(device / "config"), _CONFIG_BYTES))
    return None


def access_control(config: bytes) -> int | None:
    """The control register of ACS in a device's configuration; 0 for a device without it, None where it is cut short.

    Without root, and through some virtual machines, the kernel gives the first 64 or 256 bytes alone.
    """
    if len(config) < _CONFIG_BYTES:
        return None
    offset, seen = _FIRST_CAPABILITY, set()
    while _FIRST_CAPABILITY <= offset <= _CONFIG_BYTES - 8 and offset not in seen:
        seen.add(offset)
        (header,) = struct.unpack_from("<I", config, offset)
        if header & 0xFFFF == _ACS:
            return int(struct.unpack_from("<H", config, offset + _ACS_CONTROL)[0])
        offset = header >> 20 & 0xFFC
    return 0


def access_control_check(bridges: Mapping[str, int | None]) -> Check:
    """Off on every bridge above the cards; where it cannot be read it is unknown, and no failure."""
    on = {address: control for address, control in bridges.items() if control}
    unread = [address for address, control in bridges.items() if control is None]
    found = ", ".join(f"{address} (control {control:#06x})" for address, control in on.items())
    if not on:
        found = "unknown" if unread or not bridges else f"off on {len(bridges)} bridges"
    first = next(iter(on), "<bridge>")
    return Check(
        "PCIe access control",
        not on,
        "ACS off on every bridge above the cards, because Gaudi Direct transfers between card and network card",
        f"on at {found}" if on else found,
        f"switch ACS off in the BIOS, or for each bridge and after each boot with `setpci -s {first} ECAP_ACS+6.w=0`",
    )
