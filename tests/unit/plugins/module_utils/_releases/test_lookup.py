# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import generation_named
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import (
    NEWEST,
    RELEASES,
    find_release,
    kernel_fits,
    release_part,
    version_key,
)


@pytest.mark.parametrize(
    ("text", "package_version", "pytorch"),
    [
        ("1.24.1", "1.24.1-482", "2.11.0"),
        ("1.24.1-482", "1.24.1-482", "2.11.0"),
        (" 1.23.0 ", "1.23.0-695", "2.9.0"),
        ("1.22.2", "1.22.2-32", "2.7.1"),
        ("1.18.0", "1.18.0-524", "2.4.0"),
    ],
)
def test_a_release_is_found_with_and_without_its_build(text, package_version, pytorch):
    release = find_release(text)
    assert (release.package_version, release.pytorch) == (package_version, pytorch)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1.24.3", ["'1.24.3'", "did you mean 1.24.2?", "gaudi_release", "1.23.0"]),
        ("latest", ["'latest'", "1.24.1", "gaudi_release_overrides"]),
        ("", ["''", "1.24.1"]),
        ("1.24.1-1", ["1.24.1-1", "build 482", "1.24.1-482"]),
    ],
)
def test_an_unknown_release_is_refused_in_one_sentence_that_names_the_known_ones(text, words):
    with pytest.raises(GaudiError) as error:
        find_release(text)
    assert all(word in str(error.value) for word in words)
    assert str(error.value).count("\n") == 0


def test_first_generation_cards_end_with_1_21():
    with_gaudi1 = [version for version, row in RELEASES.items() if "gaudi" in row.generations]
    assert max(with_gaudi1, key=version_key) == "1.21.5"


def test_the_compat_module_comes_first_since_1_21_and_is_unloaded_last():
    assert find_release("1.21.0").modules[0] == "habanalabs_compat"
    assert find_release("1.24.1").unload_order == tuple(reversed(find_release("1.24.1").modules))
    assert "habanalabs_compat" not in find_release("1.20.1").modules


def test_every_row_is_complete_and_speaks_of_known_generations():
    assert NEWEST in RELEASES
    for version, row in RELEASES.items():
        assert row.version == version
        assert row.build.isdigit()
        assert row.operating_systems
        assert all(generation_named(name) for name in (*row.generations, *row.firmware))
        assert all(hasattr(row, name) for name in row.unverified)
        # Intel's recipes carry a trailing blank and a doubled version; such strings can never match a card.
        assert all(value == value.strip() and value.count("-fw-") == 1 for value in row.firmware.values())


def test_an_override_adds_a_release_on_top_of_the_newest():
    release = find_release("1.25.0-77", {"1.25.0": {"build": 77, "operating_systems": {"debian-12": [">=6.1"]}}})
    assert release.package_version == "1.25.0-77"
    assert release.operating_systems == {"debian-12": (">=6.1",)}
    assert release.modules == RELEASES[NEWEST].modules
    assert release.firmware == {}
    assert release.source == "gaudi_release_overrides"


def test_an_override_changes_one_field_of_a_known_release():
    release = find_release("1.24.1", {"1.24.1": {"pytorch": "2.11.1"}})
    assert (release.pytorch, release.build) == ("2.11.1", "482")
    assert find_release("1.24.1").pytorch == "2.11.0"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"pytorhc": "2.12.0"}, ["pytorhc", "pytorch"]),
        ({"pytorch": "2.12.0"}, ["build"]),
        ({"build": "1", "modules": "habanalabs"}, ["modules", "list", "'habanalabs'"]),
        ({"build": "1", "operating_systems": ["ubuntu-22.04"]}, ["operating_systems", "mapping"]),
        ({"build": ["1"]}, ["build", "text"]),
    ],
)
def test_a_wrong_override_is_refused_by_name(row, words):
    with pytest.raises(GaudiError) as error:
        find_release("1.25.0", {"1.25.0": row})
    assert all(word in str(error.value) for word in ["gaudi_release_overrides[1.25.0]", *words])


@pytest.mark.parametrize(
    ("reported", "release"), [("1.24.1-b336d5e", "1.24.1"), ("1.24.1", "1.24.1"), (" 1.22.0-5f8fa9f\n", "1.22.0")]
)
def test_the_release_is_the_part_before_the_dash(reported, release):
    assert release_part(reported) == release


@pytest.mark.parametrize(
    ("kernel", "accepted", "fits"),
    [
        ("6.8.0-45-generic", (">=5.15",), True),
        ("5.15.0-100-generic", (">=5.15",), True),
        ("5.4.0-1-generic", (">=5.15",), False),
        ("6.8.0-45-generic", ("6.8",), True),
        ("6.11.0-9-generic", ("6.8",), False),
        ("6.80.0", ("6.8",), False),
        ("5.14.0-570.el9.x86_64", ("5.14",), True),
        ("6.1.0-18-amd64", ("6.8", ">=6.1"), True),
        ("anything", (), True),
        ("", ("6.8",), False),
    ],
)
def test_kernels_are_compared_by_number(kernel, accepted, fits):
    assert kernel_fits(kernel, accepted) is fits


def test_versions_sort_by_number_and_not_by_letter():
    assert version_key("1.9.0") < version_key("1.24.0") < version_key("1.24.0.1")
    assert version_key("6.8.0-45-generic") == (6, 8, 0)


@pytest.mark.parametrize("row", [[["build"]], "482", 7, None, [{}]])
def test_an_override_that_is_no_mapping_is_refused_by_its_release(row):
    with pytest.raises(GaudiError, match=r"^gaudi_release_overrides\[1.24.1\] must be a mapping of fields"):
        find_release("1.24.1", {"1.24.1": row})
