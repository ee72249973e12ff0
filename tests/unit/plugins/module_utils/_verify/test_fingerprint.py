# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.fingerprint import (
    Difference,
    differences,
    equal_fields,
    fingerprint,
)
from ansible_collections.gaudi3.scale.tests.unit.planned_node import FACTS

VIRGIN = {
    **FACTS,
    "driver": None,
    "packages": {},
    "held": (),
    "built": {},
    "spi": {"0000:19:00.0": None},
    "fit": {"0000:19:00.0": None},
    "cpld": {"0000:19:00.0": None},
}


def test_equal_nodes_have_one_fingerprint_whatever_their_addresses_and_jobs():
    other = copy.deepcopy(FACTS)
    other["spi"] = {f"0001:{address[5:]}": version for address, version in reversed(other["spi"].items())}
    other["packages"] = dict(reversed(other["packages"].items()))
    other["holders"] = ["process 7 (python)"]
    assert fingerprint(other) == fingerprint(FACTS)
    assert len(fingerprint(FACTS)) == 12


@pytest.mark.parametrize(
    "change",
    [
        {"cards": 7},
        {"boards": ["HL-338"]},
        {"generations": ["gaudi2"]},
        {"os": "ubuntu-22.04"},
        {"kernel": "6.8.0-48-generic"},
        {"next_kernel": "6.8.0-48-generic"},
        {"driver": "1.23.0-2eae87b"},
        {"packages": {**FACTS["packages"], "habanalabs-qual": "1.22.0-740"}},
        {"built": {}},
        {"held": []},
        {"spi": {**FACTS["spi"], "0000:19:00.0": "1.20.0-fw-58.0.0-sec-2"}},
        {"spi": {**FACTS["spi"], "0000:19:00.0": None}},
        {"programs": {"docker": "25.0.1"}},
        {"pytorch_release": "1.23.0"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_should_be_equal_is_in_it(change):
    assert fingerprint({**FACTS, **change}) != fingerprint(FACTS)


def test_a_virgin_node_has_fields_only_for_what_is_there():
    fields = equal_fields(VIRGIN)
    assert fields["cards"] == "2"
    assert not {"loaded driver", "SPI firmware", "PyTorch"} & set(fields)


def test_a_node_is_explained_field_by_field_against_the_majority():
    odd = {**FACTS, "kernel": "6.8.0-48-generic", "packages": {"habanalabs-dkms": "1.23.0-695"}}
    group = {"n1": FACTS, "n2": odd, "n3": FACTS, "n4": {**FACTS, "kernel": "5.15.0-1"}}
    assert differences("n2", group) == [
        Difference("kernel", "6.8.0-48-generic", "6.8.0-45-generic", 2, 4),
        Difference("package habanalabs-qual", None, "1.23.0-695, held", 3, 4),
    ]
    assert differences("n1", group) == []


def test_without_a_majority_the_other_value_is_shown_with_its_count():
    assert differences("n1", {"n1": FACTS, "n2": {**FACTS, "os": "rhel-9.6"}}) == [
        Difference("operating system", "ubuntu-24.04", "rhel-9.6", 1, 2)
    ]
