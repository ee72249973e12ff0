# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""PCIe as sysfs has it: links that are right, narrow or unreadable, and access control in a device's configuration."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hpu_facts import HpuFacts, gather
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.pcie import (
    PcieLink,
    access_control,
    access_control_check,
    link_check,
    read_access_control,
    read_links,
)
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, HlSmi, write_kernel

FIRST = ADDRESSES[0]


def facts(root: Path, pci_id: str, speed: str, width: str) -> tuple[HpuFacts, dict[str, PcieLink]]:
    """A node whose first card has another link than the healthy one."""
    write_kernel(root, pci_id=pci_id)
    device = root / "sys/bus/pci/devices" / FIRST
    (device / "current_link_speed").write_text(f"{speed}\n")
    (device / "current_link_width").write_text(f"{width}\n")
    return gather(HlSmi(), str(root)), read_links(str(root), ADDRESSES)


@pytest.mark.parametrize(
    ("pci_id", "speed", "width", "ok", "found"),
    [
        ("0x1060", "32.0 GT/s PCIe", "16", True, "Gen5 x16"),
        ("0x1060", "16.0 GT/s PCIe", "16", False, f"Gen4 x16 at {FIRST}"),
        ("0x1060", "32.0 GT/s PCIe", "8", False, f"Gen5 x8 at {FIRST}"),
        ("0x1063", "2.5 GT/s PCIe", "1", False, f"Gen1 x1 at {FIRST}"),
        ("0x1020", "16.0 GT/s PCIe", "16", True, "Gen4 x16, Gen5 x16"),
        ("0x1020", "8.0 GT/s PCIe", "16", False, f"Gen3 x16 at {FIRST}"),
        # An older kernel's words, a link that cannot be read, and a generation of which no source tells the link.
        ("0x1020", "16 GT/s", "16", True, "Gen5 x16, Gen? x16"),
        ("0x1060", "Unknown", "255", True, "Gen5 x16, Gen? x?"),
        ("0x1060", "", "0", True, "Gen5 x16, Gen? x?"),
        ("0x1000", "8.0 GT/s PCIe", "8", True, "Gen3 x8, Gen5 x16"),
    ],
)
def test_links(tmp_path: Path, pci_id: str, speed: str, width: str, ok: bool, found: str) -> None:
    check = link_check(*facts(tmp_path, pci_id, speed, width), None, None)
    assert (check.ok, check.found) == (ok, found)


def test_what_a_slot_cannot_give_can_be_accepted(tmp_path: Path) -> None:
    measured = facts(tmp_path, "0x1063", "16.0 GT/s PCIe", "8")
    assert not link_check(*measured, 4, None).ok
    assert link_check(*measured, 4, 8).ok
    assert link_check(*measured, 4, 8).expected == "at least Gen4 x8 for each card"


def config(*capabilities: tuple[int, int, bytes]) -> bytes:
    """A device's configuration with extended capabilities: number, place, and what follows the header."""
    data = bytearray(0x1000)
    places = [place for _number, place, _body in capabilities]
    for (number, place, body), following in zip(capabilities, [*places[1:], 0]):
        data[place : place + 4 + len(body)] = struct.pack("<I", number | 1 << 16 | following << 20) + body
    return bytes(data)


AER, ACS = 0x1, 0xD


@pytest.mark.parametrize(
    ("data", "control"),
    [
        (config((AER, 0x100, b""), (ACS, 0x148, struct.pack("<HH", 0x1F, 0x1D))), 0x1D),
        (config((ACS, 0x100, struct.pack("<HH", 0x1F, 0))), 0),
        (config((AER, 0x100, b"")), 0),
        (config(), 0),
        # A chain that leads back into itself, and one that leads out.
        (config((AER, 0x100, b""), (AER, 0x200, b""), (AER, 0x100, b"")), 0),
        (struct.pack("<64xI", 1).ljust(0x1000, b"\xff"), 0),
        # What the kernel shows without root, and for a device without extended configuration.
        (bytes(64), None),
        (bytes(256), None),
        (b"", None),
    ],
)
def test_access_control_of_a_device(data: bytes, control: int | None) -> None:
    assert access_control(data) == control


def test_every_bridge_above_a_card_is_read_once(tmp_path: Path) -> None:
    tree = tmp_path / "sys/devices/pci0000:15"
    cards = [tree / "0000:15:01.0/0000:16:00.0" / f"0000:17:0{slot}.0" / f"0000:1{8 + slot}:00.0" for slot in (0, 1)]
    links = tmp_path / "sys/bus/pci/devices"
    links.mkdir(parents=True)
    for card in cards:
        card.mkdir(parents=True)
        (links / card.name).symlink_to(card)
    on = config((ACS, 0x100, struct.pack("<HH", 0x1F, 0x1D)))
    for directory, data in (("0000:15:01.0", on), ("0000:15:01.0/0000:16:00.0", config())):
        (tree / directory / "config").write_bytes(data)
    (cards[0].parent / "config").write_bytes(bytes(64))
    bridges = read_access_control(str(tmp_path), [card.name for card in cards])
    assert bridges == {"0000:15:01.0": 0x1D, "0000:16:00.0": 0, "0000:17:00.0": None, "0000:17:01.0": None}
    assert "setpci -s 0000:15:01.0 ECAP_ACS+6.w=0" in access_control_check(bridges).remedy


@pytest.mark.parametrize(
    ("bridges", "ok", "found"),
    [
        ({"0000:15:01.0": 0, "0000:16:00.0": 0}, True, "off on 2 bridges"),
        ({"0000:15:01.0": 0, "0000:16:00.0": None}, True, "unknown"),
        ({}, True, "unknown"),
        ({"0000:15:01.0": 1, "0000:16:00.0": None}, False, "on at 0000:15:01.0 (control 0x0001)"),
    ],
)
def test_what_is_said_of_bridges(bridges: dict[str, int | None], ok: bool, found: str) -> None:
    check = access_control_check(bridges)
    assert (check.ok, check.found) == (ok, found)
