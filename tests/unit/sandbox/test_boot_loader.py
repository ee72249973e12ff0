# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from sandbox.simulator.boot_loader import ROOT_DEVICE, booted, installed_kernels, menu

CLOUD, USUAL, OLD = "6.1.0-56-cloud-amd64", "6.1.0-56-amd64", "6.1.0-9-amd64"
KERNELS = [CLOUD, USUAL, OLD]


def test_the_next_boot_has_what_the_menu_says():
    release, command_line = booted(menu([USUAL], "quiet iommu=pt"))
    assert release == USUAL
    assert command_line == f"BOOT_IMAGE=/boot/vmlinuz-{USUAL} root={ROOT_DEVICE} ro quiet iommu=pt"


def test_a_menu_edited_by_hand_is_obeyed():
    text = menu([USUAL], "quiet").replace("quiet", "debug")
    assert booted(text)[1].endswith("ro debug")


def test_a_menu_of_the_simulator_before_it_had_submenus_still_boots():
    text = f"menuentry 'Debian GNU/Linux' {{\n\tlinux\t/boot/vmlinuz-{USUAL} root=x ro quiet\n}}\n"
    assert booted(text) == (USUAL, f"BOOT_IMAGE=/boot/vmlinuz-{USUAL} root=x ro quiet")


@pytest.mark.parametrize(
    ("default", "environment", "kernel"),
    [
        ("0", "", CLOUD),
        ("1>1", "", USUAL),
        ("1>Debian GNU/Linux, with Linux 6.1.0-9-amd64", "", OLD),
        ("gnulinux-advanced-simulated>gnulinux-6.1.0-9-amd64-advanced-simulated", "", OLD),
        ("saved", "saved_entry=1>2\n", OLD),
        ("saved", "", CLOUD),
        ("0", "next_entry=1>1\n", USUAL),
        ("1>9", "", CLOUD),
        ("no such entry", "", CLOUD),
    ],
)
def test_the_entry_that_grub_would_start_is_booted(default, environment, kernel):
    assert booted(menu(KERNELS, "quiet", default), environment)[0] == kernel


def test_kernels_are_listed_newest_first_as_grub_does():
    images = [f"vmlinuz-{name}" for name in (OLD, USUAL, CLOUD)]
    assert installed_kernels(USUAL, images) == KERNELS
    assert installed_kernels(USUAL, []) == [USUAL]
