# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The binary interface as we have it against that of the vendor's own wrapper, for each release line that we read."""

from __future__ import annotations

import ctypes
import json
import struct
import warnings
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards import hlml_interface as ours
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hlml_fields import OF_CARD, OF_LIBRARY, calls
from ansible_collections.gaudi3.scale.tests.unit.sandbox import hlml_wrapper

# Of habana-pyhlml: version -> what it says, or the version that says the same. See hlml_wrapper.py.
_READ = json.loads((Path(__file__).parents[3] / "fixtures/hlml/wrappers.json").read_text(encoding="utf-8"))
WRAPPERS = {
    version: {part: _READ[said][part] if isinstance(said, str) else said for part, said in parts.items()}
    for version, parts in _READ.items()
}
# Class of the wrapper, the beginning of its names -> ours.
NUMBERS = {
    ("HLML_CLOCK_TYPE", "HLML_CLOCK_"): ours.CLOCKS,
    ("HLML_TEMP_SENS", "HLML_TEMPERATURE_"): ours.SENSORS,
    ("HLML_TEMP_THRESH", "HLML_TEMPERATURE_THRESHOLD_"): ours.THRESHOLDS,
    ("HLML_MEMORY_ERROR", "HLML_MEMORY_ERROR_TYPE_"): ours.ERRORS,
    ("HLML_ECC_COUNTER", "HLML_"): ours.COUNTERS,
    ("HLML_MEMORY_LOCATION", "HLML_MEMORY_LOCATION_"): ours.LOCATIONS,
    ("HLML_ROW_REPLACEMENT_CAUSE", "HLML_ROW_REPLACEMENT_CAUSE_"): ours.CAUSES,
    ("HLML_PERF_POLICY", "HLML_PERF_POLICY_"): ours.POLICIES,
    ("HLML_PCIE_UTIL_COUNTER", "HLML_PCIE_UTIL_"): ours.DIRECTIONS,
    ("HLML_AFFINITY_SCOPE", "HLML_AFFINITY_SCOPE_"): ours.SCOPES,
    ("HLML_DEFINE", "HLML_CLOCKS_THROTTLE_REASON_"): ours.THROTTLING,
    ("HLML_DEFINE", "HLML_EVENT_"): ours.EVENTS,
}
# What a wrapper of 1.21 did not have as numbers yet.
LATER = {"HLML_ROW_REPLACEMENT_CAUSE", "HLML_PERF_POLICY", "HLML_MEMORY_LOCATION"}


def plain(name: str) -> str:
    """Our name of a number of the wrapper's."""
    return name.removeprefix("ON_").removesuffix("_BYTES").removesuffix("_ECC").lower()


def test_each_line_that_is_read_was_compared() -> None:
    assert tuple(sorted({".".join(version.split(".")[:2]) for version in WRAPPERS})) == ours.LINES


@pytest.mark.parametrize("version", WRAPPERS)
def test_structures_have_the_sizes_and_the_order_of_the_wrapper(version: str) -> None:
    theirs = {name: one for name, one in WRAPPERS[version]["structures"].items() if name != "pci_cap"}
    assert {name: one.size for name, one in ours.STRUCTURES.items()} == {
        name: one["size"] for name, one in theirs.items()
    }
    for name, structure in ours.STRUCTURES.items():
        assert list(structure.fields) == [field for field, _offset, _size in theirs[name]["fields"]]
        assert offsets(structure) == [offset for _field, offset, _size in theirs[name]["fields"]]


def offsets(structure: ours.Structure) -> list[int]:
    """Where each value begins: after what stands before it, filled up to its own alignment."""
    parts, digits = [], ""
    for letter in structure.format:
        digits = digits + letter if letter.isdigit() else digits
        if not letter.isdigit():
            parts.append(digits + letter)
            digits = ""
    ends = [struct.calcsize("@" + "".join(parts[: number + 1])) for number in range(len(parts))]
    return [end - struct.calcsize(part) for end, part in zip(ends, parts)]


@pytest.mark.parametrize("version", WRAPPERS)
def test_functions_are_those_of_the_wrapper(version: str) -> None:
    assert sorted(ours.FUNCTIONS) == WRAPPERS[version]["functions"]


@pytest.mark.parametrize("version", WRAPPERS)
def test_numbers_are_those_of_the_wrapper(version: str) -> None:
    said = WRAPPERS[version]["numbers"]
    for (kind, prefix), mine in NUMBERS.items():
        theirs = {
            plain(name.removeprefix(f"{kind}.{prefix}")): value
            for name, value in said.items()
            if name.startswith(f"{kind}.{prefix}")
        }
        for name, value in mine.items():
            if version.startswith("1.21.") and kind in LATER and name not in theirs:
                continue
            assert theirs[name] == value, f"{kind} {name}"


@pytest.mark.parametrize("version", WRAPPERS)
def test_codes_are_those_of_the_wrapper(version: str) -> None:
    theirs = {value for name, value in WRAPPERS[version]["numbers"].items() if name.startswith("HLML_RETURN.")}
    assert theirs == {ours.SUCCESS, *ours.CODES}


def test_lengths_are_those_of_the_wrapper() -> None:
    said = WRAPPERS[max(WRAPPERS)]["numbers"]
    assert said["HLML_DEFINE.HLML_DEVICE_ROW_RPL_MAX"] == ours.MOST_REPLACED_ROWS
    assert said["HLML_DEFINE.HLML_DEVICE_MAC_MAX_ADDRESSES"] == ours.MOST_MAC_ADDRESSES
    assert said["COMMON_DEFINE.HABANA_LINK_CNT_MAX_NUM"] == ours.MOST_PORT_COUNTERS
    lengths = {said[f"COMMON_DEFINE.{name}"] for name in ("VERSION_MAX_LEN", "STATUS_MAX_LEN")}
    asked = {word for text in ours.FUNCTIONS.values() for word in text.split() if word.startswith("*text")}
    assert {int(word.removeprefix("*text")) for word in asked} == lengths | {said["HLML_DEFINE.HL_FIELD_MAX_SIZE"]}


def test_the_wrapper_that_is_installed_is_one_that_was_compared() -> None:
    """A change upstream is seen on the day on which the requirement moves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyhlml import hlml_types
    main = Path(str(hlml_types.__file__)).with_name("main.py")
    found = json.loads(json.dumps(hlml_wrapper.described(hlml_types, main)))
    assert found == WRAPPERS[max(WRAPPERS)]


def test_each_function_that_is_asked_exists_and_gets_its_numbers() -> None:
    for call in [*calls(OF_LIBRARY), *calls(OF_CARD)]:
        words = [word for word in ours.FUNCTIONS[str(call["function"])].split() if not word.startswith(("*", "+"))]
        given = [word for word in call["parameters"] if isinstance(word, int)]
        texts = ours.FUNCTIONS[str(call["function"])].count("*text")
        assert len(given) == len([word for word in words if word != "device"]) + texts


def test_a_field_has_a_name_of_its_own_and_a_range() -> None:
    fields = [*OF_LIBRARY, *OF_CARD]
    assert len({one.name for one in fields}) == len(fields)
    assert all(one.is_text or one.least < one.most for one in fields)
    assert all(one.source == f"HLML {one.function}" for one in fields)


def test_a_pointer_is_as_wide_as_ours() -> None:
    assert struct.calcsize("P") == ctypes.sizeof(ctypes.c_void_p)
