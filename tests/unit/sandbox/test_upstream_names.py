# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated sysfs, the simulated modules and the words of the kernel's log, held against the kernel's own driver.

``tests/upstream_names.json`` has its names; where the sandbox has fetched the source, they are read from it again.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards import accel_sysfs
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.kernel_log import found_in

from sandbox.repository.packages import DKMS_SOURCES
from sandbox.repository.upstream_driver import SERIES, SOURCES
from sandbox.simulator.kernel_tree import render
from tests import upstream_names

from . import simulated

KNOWN: dict[str, dict[str, Any]] = upstream_names.known()
# The one of the accel class, as the simulated driver is.
NEWEST = KNOWN["6.12"]["names"]
CARD = "sys/class/accel/accel0/device/"
# What the simulated driver shows and the kernel's own does not.
NOT_UPSTREAM = {
    "driver_ver": "the vendor's driver has it, which tells its version",
    "vendor": "of the PCI device, where the link `device` leads",
    "device": "of the PCI device",
    "numa_node": "of the PCI device",
}
# What the kernel's own shows and the simulated one does not.
NOT_SIMULATED = {
    "hard_reset": "can only be written, and nothing of ours resets a card by it",
    "soft_reset": "of Goya alone, as allow_inference_soft_reset has it",
    "soft_reset_cnt": "of Goya alone",
}
# Lines of other versions of the driver, from public files: the kernel's own says them in other words.
OTHER_VERSIONS = {"Fatal error during hard-reset", "Device reset failed"}


def attributes(generation: str = "gaudi3") -> dict[str, str]:
    files = render(simulated.loaded(generation), simulated.MACHINE)
    return {path.removeprefix(CARD): text for path, text in files.items() if path.startswith(CARD)}


def test_the_simulated_cards_have_the_driver_s_attributes() -> None:
    shown, upstream = set(attributes()), set(NEWEST["attributes"])
    assert shown - upstream == set(NOT_UPSTREAM)
    assert upstream - shown == set(NOT_SIMULATED)


@pytest.mark.parametrize("name", sorted(set(NEWEST["attributes"]) - set(NOT_SIMULATED)))
def test_a_value_has_the_form_that_the_driver_gives_it(name: str) -> None:
    forms = NEWEST["attributes"][name]
    for generation in ("gaudi2", "gaudi3"):
        value = attributes(generation)[name].removesuffix("\n")
        assert any(upstream_names.fits(value, form) for form in forms), (value, forms)


def test_a_card_has_a_status_that_the_driver_knows() -> None:
    files = render(simulated.loaded(faults={"not_operational": [0]}), simulated.MACHINE)
    shown = {text.strip() for path, text in files.items() if path.endswith("/device/status")}
    assert shown == {"Operational", "Disabled"}
    for names in KNOWN.values():
        assert shown <= set(names["names"]["statuses"])


def test_a_gaudi_2_has_the_device_type_and_the_pci_id_that_the_driver_knows() -> None:
    shown = attributes("gaudi2")
    for names in KNOWN.values():
        assert shown["device_type"].strip() in names["names"]["device_types"]
        assert shown["device"].strip() in names["names"]["device_ids"]
        # It drives no Gaudi 3, whatever a kernel has in its tree.
        assert attributes("gaudi3")["device"].strip() not in names["names"]["device_ids"]


def test_a_parameter_of_the_simulated_module_is_one_of_the_driver_s() -> None:
    source = (DKMS_SOURCES / "habanalabs.c").read_text(encoding="utf-8")
    own = re.findall(r"^module_param\((\w+),", source, re.MULTILINE)
    assert own
    for names in KNOWN.values():
        assert set(own) <= set(names["names"]["parameters"])


def test_what_our_reader_takes_of_sysfs_is_there() -> None:
    source = Path(accel_sysfs.__file__).read_text(encoding="utf-8")
    read = set(re.findall(r'attribute\(device, "(\w+)"\)', source))
    assert {"status", "module_id", "pci_addr"} <= read
    assert read - set(NEWEST["attributes"]) <= set(NOT_UPSTREAM)


def test_the_words_of_the_kernel_s_log_are_the_driver_s() -> None:
    said = {line for names in KNOWN.values() for line in names["names"]["log"]}
    older = {"Failed to initialize hl2. Device is NOT usable !"}
    assert set(upstream_names.LOG_LINES) - said == OTHER_VERSIONS | older


@pytest.mark.parametrize("series", SERIES)
def test_a_line_of_the_driver_is_known_by_how_the_kernel_begins_it(series: str) -> None:
    names = KNOWN[series]["names"]
    # Of a PCI device, of a device of the driver's class (until 6.1) or of the accel class, and of none.
    beginnings = ("habanalabs 0000:1a:00.0: ", "habanalabs hl2: ", "accel accel2: ", names["prefix"])
    lines = [f"{beginning}{line}" for beginning in beginnings for line in names["log"]]
    assert lines
    for line in lines:
        assert found_in(line) == [line]


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("0x0000001000000010", "0x%08x%08x", True),
        ("0x10", "0x%08x", False),
        ("0x10", "%#04x", True),
        ("16", "%#04x", False),
        ("0000:33:00.0", "%04x:%02x:%02x.%x", True),
        ("33:00.0", "%04x:%02x:%02x.%x", False),
        ("-5 of 8 are 100%", "%d of %zu are 100%%", True),
        ("port a", "port %d", False),
        ("Device a.b is there", "Device %s is there", True),
        ("Device a.b is gone", "Device %s is there", False),
    ],
)
def test_a_text_fits_a_form_of_printf(text: str, form: str, expected: bool) -> None:
    assert upstream_names.fits(text, form) is expected


@pytest.mark.skipif(not SOURCES.exists(), reason="apt has not fetched the kernels' sources for the sandbox")
def test_the_names_are_those_of_the_source() -> None:
    assert upstream_names.names_of(upstream_names.extract()) == upstream_names.names_of(KNOWN)
