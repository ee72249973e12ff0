# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.tests.unit.planned_node import ADDRESSES, KERNEL, NODE, SPI, VIRGIN, plan

KEYS = {"facts", "wanted", "changes", "obstacles", "verdict", "life_cycles", "fingerprint"}


def steps(result):
    return {change["what"]: (change["from"], change["to"]) for change in result["changes"]}


def test_an_upgrade_names_every_package_the_build_and_the_loaded_driver():
    result = plan()
    assert set(result) == KEYS
    assert steps(result) == {
        "habanalabs-dkms": ("1.23.0-695", "1.24.1-482"),
        "habanalabs-qual": ("1.23.0-695", "1.24.1-482"),
        f"driver built for {KERNEL}": ("1.23.0-695", "1.24.1-482"),
        "loaded driver": ("1.23.0-2eae87a", "1.24.1"),
    }
    assert result["obstacles"] == []
    assert result["verdict"]["state"] == "compatible"


def test_the_release_that_is_there_changes_nothing_although_the_driver_names_a_commit():
    result = plan(release="1.23.0")
    assert result["changes"] == []
    assert result["wanted"]["kernels"] == ["6.8"]
    assert result["wanted"]["firmware"] == SPI


def test_a_virgin_node_gets_everything():
    result = plan(VIRGIN, packages=["habanalabs-dkms"])
    assert set(result) == KEYS
    assert steps(result) == {
        "habanalabs-dkms": (None, "1.24.1-482"),
        f"headers of kernel {KERNEL}": (None, "installed"),
        f"driver built for {KERNEL}": (None, "1.24.1-482"),
        "loaded driver": (None, "1.24.1"),
    }
    assert steps(plan(VIRGIN))["the vendor's packages"] == (None, "1.24.1-482")


def test_a_node_without_cards_and_without_anything_still_has_a_plan():
    bare = replace(VIRGIN, generations=(), cards=0, boards=(), kernel=None, next_kernel=None, spi={}, fit={}, cpld={})
    result = plan(bare, cards=8)
    assert set(result) == KEYS
    assert result["verdict"]["state"] == "unknown"
    assert "0 of 8 cards" in result["obstacles"][0]


def test_the_kernel_of_the_next_boot_is_planned_for_too():
    result = plan(replace(NODE, next_kernel="6.8.0-48-generic"), "1.23.0")
    assert steps(result) == {
        "headers of kernel 6.8.0-48-generic": (None, "installed"),
        "driver built for 6.8.0-48-generic": (None, "1.23.0-695"),
    }


def test_pytorch_changes_only_where_it_is():
    assert steps(plan(replace(NODE, pytorch="2.9.0", pytorch_release="1.23.0")))["PyTorch's release"] == (
        "1.23.0",
        "1.24.1",
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"spi": {ADDRESSES[0]: SPI, ADDRESSES[1]: "1.20.0-fw-58.0.0-sec-2"}}, ["different SPI", ADDRESSES[1]]),
        ({"spi": {ADDRESSES[0]: "???", ADDRESSES[1]: SPI}}, ["cannot be read", "'???'", ADDRESSES[0]]),
        ({"holders": ("process 7 (python) in a.service",)}, ["process 7 (python) in a.service"]),
        ({"fault": "This node has neither apt nor dnf"}, ["neither apt nor dnf"]),
        ({"os": "debian-12"}, ["debian-12"]),
    ],
)
def test_what_stands_in_the_way_is_one_sentence(changes, words):
    sentences = plan(replace(NODE, **changes))["obstacles"]
    assert len(sentences) == 1
    assert all(word in sentences[0] for word in words)


def test_a_holder_is_in_nobodys_way_where_the_driver_stays():
    assert plan(replace(NODE, holders=("process 7 (python)",)), "1.23.0")["obstacles"] == []


def test_firmware_is_remarked_and_never_among_the_changes():
    old = "1.20.0-fw-58.1.1-sec-2"
    result = plan(replace(NODE, spi=dict.fromkeys(ADDRESSES, old)), "1.23.0")
    assert result["changes"] == []
    assert any(old in remark and SPI in remark for remark in result["verdict"]["remarks"])


def test_half_installed_packages_are_told():
    remarks = plan(replace(NODE, half_way=("habanalabs-dkms",)))["verdict"]["remarks"]
    assert any("habanalabs-dkms half installed" in remark for remark in remarks)


def test_what_is_no_longer_supported_is_a_note_with_its_source_and_no_obstacle():
    result = plan(replace(NODE, os="rhel-9.4", kernel="5.14.0-427.el9", next_kernel=None), "1.23.0")
    told = {one["kind"]: one for one in result["life_cycles"]}
    assert {kind: one["state"] for kind, one in told.items()} == {
        "release": "supported",
        "cards": "unknown",
        "operating system": "ended",
        "kernel": "supported",
        "PyTorch": "faulty",
        "vLLM": "faulty",
    }
    for kind in ("operating system", "PyTorch", "vLLM"):
        assert told[kind]["sentence"] in result["verdict"]["remarks"]
        assert told[kind]["source"] in told[kind]["sentence"] or told[kind]["holes"]
    assert result["obstacles"] == []
    assert (result["verdict"]["state"], told["PyTorch"]["holes"]) == ("compatible", ["CVE-2026-24747"])
