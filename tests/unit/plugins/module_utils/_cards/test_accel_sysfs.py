# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.module_utils._cards.accel_sysfs import (
    AccelDevice,
    PciCard,
    accel_devices,
    loaded_modules,
    pci_cards,
)
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, MODULES, SPI, write_kernel


def test_cards_are_found_before_any_driver_is_there(tmp_path):
    write_kernel(tmp_path, driver=False)
    cards = pci_cards(str(tmp_path))
    assert [card.pci_address for card in cards] == list(ADDRESSES)
    assert cards[0] == PciCard("0000:19:00.0", "0x1060", 0)
    assert cards[7].numa_node == 1
    assert accel_devices(str(tmp_path)) == ()
    assert loaded_modules(str(tmp_path)) == ()


def test_devices_are_known_by_address_and_not_by_accel_index(tmp_path):
    write_kernel(tmp_path)
    devices = accel_devices(str(tmp_path))
    assert devices[0] == AccelDevice(7, "0000:19:00.0", "Operational", 0, "1.24.1-b336d5e", SPI)
    assert [device.index for device in devices] == [7, 6, 5, 4, 3, 2, 1, 0]


def test_the_address_is_the_link_s_target_where_the_driver_does_not_tell_it(tmp_path):
    write_kernel(tmp_path, ADDRESSES[:1])
    (tmp_path / "sys/bus/pci/devices" / ADDRESSES[0] / "pci_addr").unlink()
    assert [device.pci_address for device in accel_devices(str(tmp_path))] == [ADDRESSES[0]]


def test_an_attribute_that_is_missing_or_no_number_is_unknown(tmp_path):
    write_kernel(tmp_path, ADDRESSES[:1])
    device = tmp_path / "sys/bus/pci/devices" / ADDRESSES[0]
    (device / "module_id").write_text("none\n", encoding="utf-8")
    (device / "status").unlink()
    (device / "numa_node").write_text("-1\n", encoding="utf-8")
    assert accel_devices(str(tmp_path))[0].module_id is None
    assert accel_devices(str(tmp_path))[0].status is None
    assert pci_cards(str(tmp_path))[0].numa_node is None


def test_a_card_of_the_vendor_with_an_unknown_id_is_still_a_card(tmp_path):
    write_kernel(tmp_path, ADDRESSES[:1], pci_id="0x1099", driver=False)
    assert [card.pci_id for card in pci_cards(str(tmp_path))] == ["0x1099"]


def test_accel_devices_of_other_makers_are_left_out(tmp_path):
    write_kernel(tmp_path, ADDRESSES[:1])
    other = tmp_path / "sys/class/accel/accel9"
    other.mkdir()
    (other / "device").symlink_to(tmp_path / "sys/bus/pci/devices/0000:22:00.0")
    assert [device.index for device in accel_devices(str(tmp_path))] == [0]


def test_loaded_modules_are_those_of_the_vendor(tmp_path):
    write_kernel(tmp_path)
    assert loaded_modules(str(tmp_path)) == tuple(sorted(MODULES))


def test_a_machine_without_any_of_it_has_no_cards(tmp_path):
    root = str(tmp_path / "nothing")
    assert pci_cards(root) == accel_devices(root) == loaded_modules(root) == ()
