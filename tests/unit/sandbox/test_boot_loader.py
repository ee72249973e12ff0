# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from sandbox.simulator.boot_loader import ROOT_DEVICE, command_line, menu


def test_the_next_boot_has_what_the_menu_says():
    text = menu("6.1.0-56-amd64", "quiet iommu=pt")
    assert command_line(text) == f"BOOT_IMAGE=/boot/vmlinuz-6.1.0-56-amd64 root={ROOT_DEVICE} ro quiet iommu=pt"


def test_a_menu_edited_by_hand_is_obeyed():
    text = menu("6.1.0-56-amd64", "quiet").replace("quiet", "debug")
    assert command_line(text).endswith("ro debug")
