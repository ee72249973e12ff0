# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from itertools import product

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import GENERATIONS
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import RELEASES, find_release
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.compatibility import (
    NodeFacts,
    firmware_obstacle,
    judge,
)

SYSTEMS = sorted({name for row in RELEASES.values() for name in row.operating_systems} | {"debian-12", "rhel-10.0"})
UBUNTU = {"os": "ubuntu-24.04", "kernels": ("6.8.0-45-generic",)}


def node(**changes):
    return NodeFacts(**{"generations": ("gaudi3",), "spi": ("1.22.0-fw-61.3.2-sec-3",), **UBUNTU, **changes})


def verdict_of(release, **changes):
    return judge(node(**changes), find_release(release))


@pytest.mark.parametrize("generation", [generation.name for generation in GENERATIONS])
def test_every_release_has_a_verdict_on_every_system_and_generation(generation):
    for (version, release), system in product(RELEASES.items(), SYSTEMS):
        verdict = judge(node(generations=(generation,), os=system), release)
        where = f"{version} on {system} with {generation}"
        assert verdict.state in ("compatible", "incompatible", "unknown"), where
        assert bool(verdict.reasons) is (verdict.state != "compatible"), where
        assert all(sentence.endswith(".") and "\n" not in sentence for sentence in verdict.reasons), where
        if verdict.state == "compatible":
            assert generation in release.generations, where
            assert release.operating_systems[system], where
            assert not {"generations", "operating_systems"} & set(release.inferred), where


def test_the_table_holds_all_three_verdicts():
    states = {judge(node(os=system), row).state for row, system in product(RELEASES.values(), SYSTEMS)}
    assert states == {"compatible", "incompatible", "unknown"}


@pytest.mark.parametrize(
    ("release", "changes", "words"),
    [
        ("1.23.0", {"generations": ("gaudi",)}, ["Gaudi (first generation)", "1.21.5"]),
        ("1.23.0", {"generations": ("gaudi2", "gaudi3")}, ["Gaudi 2 and Gaudi 3", "one generation"]),
        ("1.23.0", {"os": "debian-12"}, ["debian-12", "ubuntu-22.04"]),
        ("1.23.0", {"os": "sles-15.5"}, ["sles-15.5"]),
        ("1.23.0", {"kernels": ("6.11.0-9-generic",)}, ["6.8", "6.11.0-9-generic"]),
        ("1.23.0", {"kernels": ("6.8.0-45-generic", "6.11.0-9-generic")}, ["not with 6.11.0-9-generic"]),
        ("1.23.0", {"architecture": "aarch64"}, ["x86_64", "aarch64"]),
        ("1.24.1", {"os": "tencentos-3.1", "kernels": ("5.4.119",)}, ["tencentos-3.1", "Gaudi 2 only"]),
    ],
)
def test_what_the_vendor_excludes_is_incompatible_with_the_reason(release, changes, words):
    verdict = verdict_of(release, **changes)
    assert verdict.state == "incompatible"
    assert len(verdict.reasons) == 1
    assert all(word in verdict.reasons[0] for word in words)


@pytest.mark.parametrize(
    ("release", "changes", "words"),
    [
        ("1.24.2", {}, "It is not documented which cards"),
        ("1.24.0", {}, "its neighbor lists ubuntu-24.04"),
        ("1.20.1", {}, "No support matrix of release 1.20.1 is public"),
        ("1.18.0", {}, "It is not documented which cards"),
        ("1.24.1", {"os": "rhel-9.8"}, "not published"),
        ("1.23.0", {"generations": ()}, "No Gaudi card"),
        ("1.23.0", {"kernels": ()}, "running kernel is unknown"),
    ],
)
def test_what_no_source_tells_is_unknown_and_never_guessed(release, changes, words):
    verdict = verdict_of(release, **changes)
    assert verdict.state == "unknown"
    assert any(words in sentence for sentence in verdict.reasons)


def test_an_unsupported_system_that_the_operator_accepts_is_unknown_since_nobody_vouches_for_it():
    verdict = judge(node(os="debian-12"), find_release("1.23.0"), allow_unsupported_os=True)
    assert verdict.state == "unknown"
    assert "gaudi_allow_unsupported_os" in verdict.reasons[0]


def test_a_worse_verdict_keeps_the_lesser_reasons_as_remarks():
    verdict = verdict_of("1.24.1", generations=("gaudi",), os="rhel-9.8")
    assert verdict.state == "incompatible"
    assert any("not published" in remark for remark in verdict.remarks)


def test_programs_outside_the_matrix_are_remarked_and_decide_nothing():
    tools = {"docker": "20.10.24+dfsg1", "open_mpi": "4.1.4", "libfabric": "1.15.2", "kubernetes": "1.33.1"}
    verdict = verdict_of("1.23.0", tools=tools)
    assert verdict.state == "compatible"
    text = " ".join(verdict.remarks)
    assert "Docker 20.10.24+dfsg1" in text
    assert "Open MPI 4.1.4" in text
    assert "libfabric 1.15.2" in text
    assert "Kubernetes" not in text
    assert "the release notes say 5.0.8" in text


def test_an_override_lifts_the_doubt_about_what_it_states():
    row = {"1.24.2": {"generations": ["gaudi3"], "operating_systems": {"ubuntu-24.04": ["6.8"]}}}
    assert judge(node(), find_release("1.24.2", row)).state == "compatible"


def test_a_release_that_an_operator_adds_is_unknown_until_its_row_says_more():
    short = {"1.25.0": {"build": "1"}}
    assert judge(node(), find_release("1.25.0", short)).state == "unknown"
    long = {"1.25.0": {"build": "1", "generations": ["gaudi3"], "operating_systems": {"ubuntu-24.04": "6.8"}}}
    assert judge(node(), find_release("1.25.0", long)).state == "compatible"


@pytest.mark.parametrize(
    ("generation", "spi", "fit", "release", "words"),
    [
        # Down to a release whose own boot firmware is too old.
        ("gaudi2", ["1.21.2-fw-61.0.0-sec-11"], [], "1.20.1", ["SPI firmware 1.21.2", "release 1.20.1", "1.21.0"]),
        ("gaudi2", ["1.20.1-fw-58.2.6-sec-9", "1.22.0-fw-61.3.1-sec-11"], [], "1.18.0", ["SPI firmware 1.22.0"]),
        ("gaudi2", ["hl-gaudi2-1.22.0-fw-61.3.1-sec-11"], [], "1.20.0", ["hl-gaudi2-1.22.0"]),
        # Flashed under a driver that left its old boot firmware on the card.
        ("gaudi2", ["1.22.0-fw-61.3.1-sec-11"], ["1.20.1-fw-58.2.6-sec-9"], "1.23.0", ["1.20.1-fw", "1.23.0 first"]),
        ("gaudi2", ["garbage"], [], "1.20.1", ["'garbage', which cannot be read"]),
        ("gaudi2", ["1.22.0-fw-61.3.1-sec-11"], ["garbage"], "1.23.0", ["garbage"]),
    ],
)
def test_gaudi_2_never_mixes_new_spi_firmware_with_old_boot_firmware(generation, spi, fit, release, words):
    sentence = firmware_obstacle(generation, spi, fit, find_release(release))
    assert sentence is not None
    assert all(word in sentence for word in words), sentence


@pytest.mark.parametrize(
    ("generation", "spi", "fit", "release"),
    [
        ("gaudi2", ["1.21.1-fw-59.2.3-sec-9"], [], "1.20.1"),
        ("gaudi2", ["1.21.2-fw-61.0.0-sec-11"], [], "1.21.0"),
        ("gaudi2", ["1.20.1-fw-58.2.6-sec-9"], [], "1.24.1"),
        ("gaudi2", ["1.20.1-fw-58.2.6-sec-9"], ["1.20.1-fw-58.2.6-sec-9"], "1.24.1"),
        ("gaudi2", [], [], "1.18.0"),
        ("gaudi3", ["1.22.0-fw-61.3.2-sec-3"], ["1.20.1-fw-58.2.7-sec-9"], "1.20.1"),
        (None, ["1.22.0-fw-61.3.1-sec-11"], [], "1.20.1"),
    ],
)
def test_the_firmware_rule_stops_nothing_else(generation, spi, fit, release):
    assert firmware_obstacle(generation, spi, fit, find_release(release)) is None


def test_a_downgrade_across_the_boot_firmware_is_incompatible():
    verdict = verdict_of("1.20.1", generations=("gaudi2",), spi=("1.22.0-fw-61.3.1-sec-11",))
    assert verdict.state == "incompatible"
    assert "boot firmware" in verdict.reasons[0]


def test_gaudi_2_cards_without_a_driver_may_have_firmware_that_an_old_release_cannot_use():
    verdict = verdict_of("1.20.1", generations=("gaudi2",), spi=())
    assert any("can be read once a driver is loaded" in sentence for sentence in verdict.reasons)
