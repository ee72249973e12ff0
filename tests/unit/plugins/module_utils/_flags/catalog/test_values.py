# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Texts and what the owner of a flag makes of them."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.catalog.catalog import CURATED_FLAGS
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.catalog.flag_types import Flag, Kind
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.catalog.values import (
    RecipeCache,
    WrongValueError,
    allowed_values,
    is_on,
    read_value,
)


def flag(kind: Kind, **more: object) -> Flag:
    return Flag("NAME", "group", kind, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Kind.BRIDGE_BOOL, "1", True),
        (Kind.BRIDGE_BOOL, "TRUE", True),
        (Kind.BRIDGE_BOOL, "False", False),
        (Kind.BRIDGE_BOOL, "0", False),
        (Kind.BRIDGE_INT, "512", 512),
        (Kind.BRIDGE_INT, "-3", -3),
        (Kind.BRIDGE_INT, "+3", 3),
        (Kind.BRIDGE_INT, "0", 0),
        (Kind.BRIDGE_INT, "0x10", 16),
        (Kind.BRIDGE_INT, "0XfF", 255),
        # The quirks: octal, and "0x" in front of anything with a letter a to f.
        (Kind.BRIDGE_INT, "010", 8),
        (Kind.BRIDGE_INT, "1e6", 486),
        (Kind.BRIDGE_INT, "1E6", 486),
        (Kind.BRIDGE_INT, "abcd", 0xABCD),
        (Kind.COMPILE_BOOL, "Yes", True),
        (Kind.COMPILE_BOOL, "t", True),
        (Kind.COMPILE_BOOL, "off", False),
        (Kind.COMPILE_BOOL, "n", False),
        (Kind.GCFG_BOOL, "true", True),
        (Kind.GCFG_INT, "0xc00100", 0xC00100),
        (Kind.GCFG_INT, "120", 120),
        (Kind.GCFG_SIZE, "512", 512),
        (Kind.GCFG_SIZE, "512KB", 524288),
        (Kind.GCFG_SIZE, "16g", 17179869184),
        (Kind.GCFG_SIZE, "8K", 8192),
        (Kind.GCFG_SIZE, "7B", 7),
        (Kind.WORD_BOOL, "ON", True),
        (Kind.DECIMAL, "08", 8),
        (Kind.FRACTION, "0.1", 0.1),
        (Kind.PATH, "/var/log/x y", "/var/log/x y"),
        (Kind.POLICY_ORDER, "2,4,5,3,1", "2,4,5,3,1"),
        (Kind.ADDRESS, "10.0.0.1:5555", "10.0.0.1:5555"),
        (Kind.ADDRESS, "[fe80::1]:5555", "[fe80::1]:5555"),
        (Kind.MODULE_LIST, "0,1,2,3", ("0", "1", "2", "3")),
        (Kind.RECIPE_CACHE, "/cache,false,8192", RecipeCache("/cache", False, 8192, None)),
        (Kind.RECIPE_CACHE, "/cache", RecipeCache("/cache", False, 1024, None)),
        (Kind.RECIPE_CACHE, "/cache,TRUE,,1", RecipeCache("/cache", True, 1024, True)),
        (Kind.RECIPE_CACHE, ",false,1024,false", RecipeCache("", False, 1024, False)),
        (Kind.TEXT, "", ""),
    ],
)
def test_text_is_read_as_its_owner_reads_it(kind: Kind, text: str, value: object) -> None:
    assert read_value(flag(kind), text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.BRIDGE_BOOL, "yes"),
        (Kind.BRIDGE_BOOL, "on"),
        (Kind.BRIDGE_BOOL, "2"),
        (Kind.BRIDGE_BOOL, " 1"),
        (Kind.BRIDGE_INT, "64MB"),
        (Kind.BRIDGE_INT, "INT64_MAX"),
        (Kind.BRIDGE_INT, "OPTIMIZE_UTILIZATION"),
        (Kind.BRIDGE_INT, "08"),
        (Kind.BRIDGE_INT, "1.5"),
        (Kind.BRIDGE_INT, "-1e6"),
        (Kind.BRIDGE_INT, "18446744073709551616"),
        (Kind.COMPILE_BOOL, "2"),
        (Kind.GCFG_BOOL, "on"),
        (Kind.GCFG_INT, "512KB"),
        (Kind.GCFG_INT, "010"),
        (Kind.GCFG_SIZE, "512KiB"),
        (Kind.GCFG_SIZE, "-1"),
        (Kind.GCFG_SIZE, ""),
        (Kind.WORD_BOOL, "enabled"),
        (Kind.DECIMAL, "0x10"),
        (Kind.FRACTION, "ten"),
        (Kind.PATH, "relative/path"),
        (Kind.PATH, "~/logs"),
        (Kind.PATH, ""),
        (Kind.POLICY_ORDER, "3,1,4"),
        (Kind.ADDRESS, "10.0.0.1"),
        (Kind.ADDRESS, "10.0.0.1:99999"),
        (Kind.MODULE_LIST, "0,1,1"),
        (Kind.MODULE_LIST, "0;1"),
        (Kind.RECIPE_CACHE, "/cache,no,1"),
        (Kind.RECIPE_CACHE, "/cache,false,8GB"),
        (Kind.RECIPE_CACHE, "cache,false,1"),
        (Kind.RECIPE_CACHE, "/cache,false,1,false,1"),
        (Kind.READ_ONLY, "x"),
    ],
)
def test_text_that_its_owner_would_refuse_or_misread_is_refused(kind: Kind, text: str) -> None:
    with pytest.raises(WrongValueError):
        read_value(flag(kind), text)


def test_choices_are_compared_as_text_or_as_number() -> None:
    assert read_value(flag(Kind.ENUM, choices=("exp", "lin")), "lin") == "lin"
    assert read_value(flag(Kind.BRIDGE_INT, choices=("0", "4")), "0x4") == 4
    assert read_value(flag(Kind.ENUM_LIST, choices=("a", "b")), "b,a") == ("b", "a")
    assert read_value(flag(Kind.MODULE_LIST, choices=("all",)), "all") == ("all",)
    for kind, text in ((Kind.ENUM, "LIN"), (Kind.BRIDGE_INT, "5"), (Kind.ENUM_LIST, "a,c")):
        with pytest.raises(WrongValueError):
            read_value(flag(kind, choices=("exp", "lin", "0", "4", "a", "b")), text)


@pytest.mark.parametrize("text", ["-1", "101"])
def test_bounds_are_held(text: str) -> None:
    with pytest.raises(WrongValueError, match="out of range"):
        read_value(flag(Kind.BRIDGE_INT, minimum=0, maximum=100), text)


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (flag(Kind.BRIDGE_BOOL), "1, true, 0 or false"),
        (flag(Kind.BRIDGE_INT, minimum=0, maximum=100), "a whole number without a unit, 0 to 100"),
        (flag(Kind.DECIMAL, minimum=3), "a whole number, 3 or more"),
        (flag(Kind.BRIDGE_INT, choices=("0", "4"), allowed="4 is the pool"), "0 or 4 (4 is the pool)"),
        (flag(Kind.ADDRESS, allowed="<ip>:<port>"), "<ip>:<port>"),
    ],
)
def test_what_is_allowed_is_said_in_words(subject: Flag, words: str) -> None:
    assert allowed_values(subject) == words


def test_every_flag_can_say_what_it_takes() -> None:
    assert [entry.name for entry in CURATED_FLAGS if not allowed_values(entry)] == []


@pytest.mark.parametrize(("text", "on"), [("1", True), ("TRUE", True), ("on", True), ("0", False), ("", False)])
def test_on_in_any_spelling(text: str, on: bool) -> None:
    assert is_on(text) is on
