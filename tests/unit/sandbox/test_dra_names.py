# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated cards, field by field, against what Intel's DRA driver for Kubernetes reads of a card.

That driver tests itself on a sysfs of its own (intel/intel-resource-drivers-for-kubernetes, pkg/fakesysfs/gaudi.go,
looked up 2026-08-11), which somebody made who did not know ours.
"""

from __future__ import annotations

import pytest

from sandbox.simulator.kernel_tree import render
from sandbox.simulator.readings import readings

from . import simulated

# Where its fake has a field below the PCI device, and where the simulated kernel shows the same.
FIELDS = {
    "device": "sys/bus/pci/devices/{address}/device",
    "pci_addr": "sys/class/accel/accel{index}/device/pci_addr",
    "module_id": "sys/class/accel/accel{index}/device/module_id",
    "accel/accel{index}": "sys/class/accel/accel{index}/device/status",
    "dev/accel/accel{index}": "dev/accel/accel{index}",
    "dev/accel/accel_controlD{index}": "dev/accel/accel_controlD{index}",
}
# What its fake also has, and why the simulated kernel does not.
NOT_SIMULATED = {
    "dev/hl{index}": "the name of the device before the kernel's accel class, which no supported release has",
    "dev/hl_controlD{index}": "the same",
    "bus/pci/drivers/habanalabs/{address}": "nothing of ours asks the bus which driver a card has",
    "bus/pci/drivers/habanalabs/bind": "nothing of ours takes a card from its driver",
}


@pytest.mark.parametrize("generation", ["gaudi2", "gaudi3"])
@pytest.mark.parametrize("field", FIELDS)
def test_a_simulated_card_has_what_intel_s_driver_reads(field: str, generation: str) -> None:
    node = simulated.loaded(generation)
    files = render(node, simulated.MACHINE)
    for reading in readings(node):
        assert FIELDS[field].format(address=reading.card.pci_address, index=reading.index) in files


@pytest.mark.parametrize("generation", ["gaudi2", "gaudi3"])
def test_its_values_have_the_form_that_intel_s_driver_reads(generation: str) -> None:
    node = simulated.loaded(generation)
    files = render(node, simulated.MACHINE)
    for reading in readings(node):
        place = {
            name: path.format(address=reading.card.pci_address, index=reading.index) for name, path in FIELDS.items()
        }
        # A PCI ID with its 0x, a whole PCI address, and a number; the module is the card's and not the device's index.
        assert int(files[place["device"]], 16) == int(reading.board.device_id, 16)
        assert files[place["pci_addr"]].strip() == reading.card.pci_address
        assert int(files[place["module_id"]]) == reading.card.module_id
    indices = [(reading.index, reading.card.module_id) for reading in readings(node)]
    assert any(index != module for index, module in indices), "its fake takes them for one, which real nodes do not"


def test_what_is_not_simulated_is_not_there() -> None:
    node = simulated.loaded()
    files = render(node, simulated.MACHINE)
    for name in NOT_SIMULATED:
        found = [name.format(address=one.card.pci_address, index=one.index) for one in readings(node)]
        assert not any(path in files or f"sys/{path}" in files for path in found)
