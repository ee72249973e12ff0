# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The table's own consistency, and the facts that differ between neighbors."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import generation_named
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import RELEASES, find_release
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.row import Release

FIELDS = {spec.name for spec in fields(Release)}


@pytest.mark.parametrize("row", RELEASES.values(), ids=RELEASES)
def test_a_row_says_where_it_comes_from_and_what_is_in_doubt(row):
    assert row.source
    assert set(row.unverified) | set(row.inferred) | set(row.conflicts) <= FIELDS
    assert set(row.inferred) <= {*row.unverified, "generations"}
    # Two values without a word about it would be a silent conflict.
    assert (len(row.open_mpi) > 1) is ("open_mpi" in row.conflicts)


@pytest.mark.parametrize("row", RELEASES.values(), ids=RELEASES)
def test_versions_have_the_shape_that_comparisons_need(row):
    for name in ("kubernetes", "openshift", "docker", "open_mpi"):
        assert all(re.fullmatch(r"\d+(\.\d+)+", version) for version in getattr(row, name)), name
    for name in ("firmware", "erom", "cpld"):
        assert all(generation_named(generation) for generation in getattr(row, name)), name
    assert all(re.fullmatch(r">=\d+\.\d+\.\d+", version) for version in row.libfabric.values())
    for system, generations in row.only_generations.items():
        assert system in row.operating_systems
        assert all(generation_named(name) for name in generations)


@pytest.mark.parametrize(
    ("release", "field", "value"),
    [
        ("1.24.1", "docker", ("29.1.5",)),
        ("1.24.1", "kubernetes", ("1.33", "1.34", "1.35")),
        ("1.24.1", "open_mpi", ("5.0.8",)),
        ("1.24.1", "erom", {"gaudi2": ">=1.12.1-fw-46.0.5"}),
        ("1.23.0", "docker", ("25.0.1",)),
        ("1.23.0", "openshift", ("4.17", "4.18", "4.19", "4.20")),
        ("1.23.0", "erom", {"gaudi3": "1.22.0-fw-61.3.2"}),
        ("1.22.1", "kubernetes", ("1.30", "1.31", "1.32")),
        ("1.21.4", "openshift", ("4.16", "4.17", "4.18")),
        ("1.20.1", "libfabric", {"any": ">=1.16.1", "verbs": ">=1.20.0"}),
        ("1.19.2", "open_mpi", ()),
    ],
)
def test_rows_hold_what_the_sources_say(release, field, value):
    assert getattr(find_release(release), field) == value


def test_the_sources_disagree_on_open_mpi_of_1_23_and_the_row_says_so():
    row = find_release("1.23.0")
    assert row.open_mpi == ("5.0.8", "4.1.6")
    assert "5.0.8" in row.conflicts["open_mpi"]
    assert "4.1.6" in row.conflicts["open_mpi"]


def test_what_an_operator_states_is_no_longer_in_doubt():
    row = find_release("1.23.0", {"1.23.0": {"open_mpi": ["5.0.8"]}})
    assert row.conflicts == {}
    row = find_release("1.24.2", {"1.24.2": {"pytorch": "2.11.0"}})
    assert "pytorch" not in row.inferred
    assert "operating_systems" in row.inferred


def test_a_new_release_takes_over_no_firmware_and_no_tools():
    row = find_release("1.25.0", {"1.25.0": {"build": "1", "docker": ["30.0.0"]}})
    assert (row.docker, row.firmware, row.kubernetes, row.libfabric) == (("30.0.0",), {}, (), {})
    assert "operating_systems" in row.inferred
