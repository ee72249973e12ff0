# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""When the IOMMU is in the way of the cards: what the kernel shows of them, and else its command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.iommu import is_in_the_way, translates
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, write_kernel

# A Haswell Xeon with one HL-225, whose driver was loaded so: seven kernel panics.
HASWELL = "BOOT_IMAGE=/vmlinuz-6.8.0-110-generic root=/dev/sda2 ro quiet"


@pytest.mark.parametrize(
    ("command_line", "shown", "in_the_way"),
    [
        (HASWELL, None, True),
        (HASWELL, True, True),
        # A kernel whose default it is, an IOMMU that is off, a virtual machine without one.
        (HASWELL, False, False),
        (f"{HASWELL} iommu=pt intel_iommu=on", None, False),
        (f"{HASWELL} iommu=pt intel_iommu=on", True, False),
        (f"{HASWELL} amd_iommu=on iommu=pt", None, False),
        (f"{HASWELL} iommu.passthrough=1", None, False),
        (f"{HASWELL} intel_iommu=off", None, False),
        (f"{HASWELL} intel_iommu=off", True, True),
        (f"{HASWELL} intel_iommu=on", None, True),
        (f"{HASWELL} intel_iommu=on,sm_on iommu=ptx xiommu=pt", None, True),
        (f"{HASWELL} iommu.passthrough=0", None, True),
        (f"{HASWELL} iommu=soft,pt", None, False),
        (f"{HASWELL} iommu=pt iommu=nopt", None, True),
        (f"{HASWELL} iommu.passthrough=on", True, False),
        (f"{HASWELL} iommu=nopt iommu.passthrough=off", True, True),
        (None, None, False),
        (None, True, True),
    ],
)
def test_command_lines(command_line: str | None, shown: bool | None, in_the_way: bool) -> None:
    assert is_in_the_way(command_line, shown) is in_the_way


def group(root: Path, address: str, kind: str) -> None:
    directory = root / "sys/bus/pci/devices" / address / "iommu_group"
    directory.mkdir()
    (directory / "type").write_text(f"{kind}\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("kinds", "shown"), [(("identity",), False), (("DMA",), True), (("identity", "DMA-FQ"), True), ((), None)]
)
def test_what_the_kernel_shows_of_the_cards(tmp_path: Path, kinds: tuple[str, ...], shown: bool | None) -> None:
    write_kernel(tmp_path, ADDRESSES[:2])
    for address, kind in zip(ADDRESSES, kinds, strict=False):
        group(tmp_path, address, kind)
    # A network card that is translated says nothing of the cards.
    group(tmp_path, "0000:22:00.0", "DMA")
    assert translates(str(tmp_path)) is shown


def test_a_kernel_without_any_group_has_no_iommu_at_work(tmp_path: Path) -> None:
    write_kernel(tmp_path)
    groups = tmp_path / "sys/kernel/iommu_groups"
    groups.mkdir(parents=True)
    assert translates(str(tmp_path)) is False
    (groups / "0").mkdir()
    assert translates(str(tmp_path)) is None


def test_without_a_card_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "sys/kernel/iommu_groups").mkdir(parents=True)
    assert translates(str(tmp_path)) is None
