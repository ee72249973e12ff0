# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A /sys and /dev with cards, as files."""

from __future__ import annotations

import shutil
from pathlib import Path


def make_cards(root: Path, count: int, *, verbs: bool = True) -> None:
    """``count`` cards below ``root``; card N has the accel index N and the verbs device N + 1, after a host's own."""
    for index in range(count):
        address = f"0000:{0x33 + index:02x}:00.0"
        pci = root / "sys/bus/pci/devices" / address
        device = root / f"sys/class/accel/accel{index}/device"
        for directory in (pci, device, root / "dev/accel", root / "dev/infiniband"):
            directory.mkdir(parents=True, exist_ok=True)
        for name, value in (("vendor", "0x1da3"), ("device", "0x1060"), ("class", "0x120000")):
            (pci / name).write_text(value + "\n", encoding="utf-8")
        (device / "pci_addr").write_text(address + "\n", encoding="utf-8")
        names = [f"accel/accel{index}", f"accel/accel_controlD{index}"]
        if verbs:
            (pci / "infiniband_verbs" / f"uverbs{index + 1}").mkdir(parents=True)
            names.append(f"infiniband/uverbs{index + 1}")
        for name in names:
            (root / "dev" / name).touch()


def lose_card(root: Path, index: int) -> None:
    """The card is gone after the next boot."""
    shutil.rmtree(root / f"sys/class/accel/accel{index}")
