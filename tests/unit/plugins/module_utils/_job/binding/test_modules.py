# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Devices and module ids as nodes of sites show them: `hl-smi -Q index,module_id`."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.binding.modules import (
    Share,
    addresses_of,
    check_share,
    modules_by_device,
    modules_of,
)

# One node of a university's cluster, and one of the vendor's documentation, where both are the same by chance.
SITE = {0: 2, 1: 6, 2: 3, 3: 7, 4: 0, 5: 4, 6: 1, 7: 5}
ALIKE = {number: number for number in range(8)}


def kernel(root: Path, modules: dict[int, int]) -> str:
    for device, module in modules.items():
        pci = root / f"sys/bus/pci/devices/0000:{0x10 + device:02x}:00.0"
        pci.mkdir(parents=True)
        values = {"vendor": "0x1da3", "device": "0x1060", "class": "0x120000", "pci_addr": pci.name}
        for name, value in {**values, "module_id": str(module)}.items():
            (pci / name).write_text(f"{value}\n", encoding="utf-8")
        accel = root / f"sys/class/accel/accel{device}"
        accel.mkdir(parents=True)
        (accel / "device").symlink_to(pci)
    # Another maker's accelerator has an index of the class, and no module id.
    other = root / "sys/class/accel/accel20/device"
    other.mkdir(parents=True)
    return str(root)


@pytest.mark.parametrize(
    ("modules", "devices", "found"),
    [
        (SITE, (0, 1), (2, 6)),
        (SITE, (4, 6, 0, 2), (0, 1, 2, 3)),
        (SITE, range(8), (2, 6, 3, 7, 0, 4, 1, 5)),
        (ALIKE, (0, 1), (0, 1)),
        (SITE, (), ()),
    ],
)
def test_devices_are_their_modules_in_their_order(
    modules: dict[int, int], devices: tuple[int, ...], found: tuple[int, ...], tmp_path: Path
) -> None:
    assert modules_of(devices, kernel(tmp_path, modules)) == found


def test_a_device_that_sysfs_does_not_show_is_refused(tmp_path: Path) -> None:
    root = kernel(tmp_path, {0: 2, 1: 6})
    assert modules_by_device(root) == {0: 2, 1: 6}
    with pytest.raises(GaudiError, match=r"device accel9 has no module id .* the node shows accel0, accel1: "):
        modules_of((0, 9), root)
    with pytest.raises(GaudiError, match=r"device accel20 has no module id"):
        modules_of((20,), root)


@pytest.mark.parametrize(
    ("ranks", "visible"), [(8, ""), (2, "2,6"), (2, " 2, 6 "), (1, "5"), (8, "0,1,2,3,4,5,6,7"), (2, "0,1,2,3")]
)
def test_all_cards_and_named_modules_may_be_taken(ranks: int, visible: str, tmp_path: Path) -> None:
    check_share(Share(ranks, "n1", visible), kernel(tmp_path, SITE))


@pytest.mark.parametrize(
    ("ranks", "visible", "sentence"),
    [
        (2, "", "processes_per_node is 2 and n1 has 8 cards: another job there would take the same ones"),
        (2, "", "as HABANA_VISIBLE_MODULES: '0,1'; a module id is not a device's index (device:module 0:2 1:6 2:3"),
        (2, "2,9", "HABANA_VISIBLE_MODULES=2,9 names '9', and no card of n1 has that module id"),
        (1, "all", "HABANA_VISIBLE_MODULES=all names 'all', and no card"),
        (4, "2,6", "HABANA_VISIBLE_MODULES=2,6 names 2 module(s) and processes_per_node is 4; name one for each rank."),
    ],
)
def test_fewer_cards_that_nobody_names_are_refused(ranks: int, visible: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(GaudiError) as caught:
        check_share(Share(ranks, "n1", visible), kernel(tmp_path, SITE))
    assert sentence in str(caught.value)


def test_a_node_whose_cards_are_not_known_is_left_to_other_checks(tmp_path: Path) -> None:
    check_share(Share(2, "n1"), str(tmp_path))


def test_cards_are_found_by_their_modules(tmp_path: Path) -> None:
    root = kernel(tmp_path, SITE)
    assert addresses_of((2, 5), root) == ("0000:10:00.0", "0000:17:00.0")
    with pytest.raises(
        GaudiError, match=r"modules names 9, and .*/sys/class/accel shows no card with that module id; see"
    ):
        addresses_of((2, 9), root)
