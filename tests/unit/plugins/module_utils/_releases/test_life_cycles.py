# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Until when things are supported: each row has a source and a day, a date that has passed is told, so is old data."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.engine_versions import TESTED
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.known_holes import BY_HAND
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.life_cycle import (
    CORE,
    ENDED,
    ENGINE,
    FAULTY,
    KERNEL,
    KINDS,
    LIBRARY,
    OLD_AFTER_DAYS,
    RELEASE,
    SUPPORTED,
    SYSTEM,
    TORCH,
    UNKNOWN,
    LifeCycle,
    last_day,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.life_cycle_rows import LIFE_CYCLES
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import RELEASES, find_release
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.stack import (
    Stack,
    age_sentence,
    find_row,
    life_cycles_of,
    planned_stack,
)

TODAY = date(2026, 11, 30)
each_row = pytest.mark.parametrize("row", LIFE_CYCLES, ids=lambda row: f"{row.kind}-{row.name}")


@each_row
def test_a_row_has_a_source_and_the_day_on_which_it_was_read(row: LifeCycle) -> None:
    assert row.kind in KINDS and row.source and row.what
    assert date(2026, 1, 1) < date.fromisoformat(row.read) <= TODAY
    assert not row.until or (re.fullmatch(r"\d{4}-\d{2}(-\d{2})?", row.until) and last_day(row.until))
    assert all(hole.source and date.fromisoformat(hole.read) <= TODAY for hole in row.holes)
    # What is bad says what to do, and a row that cannot tell a date says why in its words.
    assert row.remedy or row.state(date(2099, 1, 1)) in (SUPPORTED, UNKNOWN)


@each_row
def test_a_row_is_found_by_what_it_is_about_and_told(row: LifeCycle) -> None:
    assert find_row(row.kind, row.name) is row
    assert find_row(row.kind, f"{row.name}.0") is row


def test_no_row_stands_twice() -> None:
    assert len({(row.kind, row.name) for row in LIFE_CYCLES}) == len(LIFE_CYCLES)


def test_everything_of_the_other_tables_has_a_row() -> None:
    for release in RELEASES.values():
        assert find_row(RELEASE, release.version) and find_row(TORCH, release.pytorch)
        assert all(find_row(SYSTEM, name) for name in release.operating_systems)
    assert all(find_row(ENGINE, version) for version in TESTED)
    told = {hole.name for row in LIFE_CYCLES for hole in row.holes}
    assert told == {hole.name for hole in BY_HAND}


def states(stack: Stack, today: date = TODAY) -> dict[str, str]:
    return {one.name: one.state for one in life_cycles_of(stack, today)}


def test_a_planned_stack_is_judged_in_all_its_parts() -> None:
    stack = planned_stack(
        find_release("1.23.0"), "rhel-9.4", ("6.17.0-3-generic", "5.14.0-427.el9"), ("gaudi", "gaudi3")
    )
    stack = replace(stack, ansible_core="2.21.5", libraries={"optimum-habana": "1.21.2", "torch": "2.9.0"})
    assert states(stack) == {
        "1.23.0": SUPPORTED,
        "gaudi": ENDED,
        "gaudi3": UNKNOWN,
        "rhel-9.4": ENDED,
        "6.17.0-3-generic": FAULTY,
        "5.14.0-427.el9": SUPPORTED,
        "2.9.0": FAULTY,
        "0.17.1": FAULTY,
        "2.21.5": SUPPORTED,
        "optimum-habana": ENDED,
    }


@pytest.mark.parametrize(
    ("kind", "name"),
    [(RELEASE, "1.99.0"), (KERNEL, "6.1.0-56-amd64"), (KERNEL, "6.171.0"), (CORE, "2.9"), (CORE, "2.210")],
)
def test_what_is_in_no_row_is_unknown_and_not_taken_for_its_neighbor(kind: str, name: str) -> None:
    assert find_row(kind, name) is None
    (told,) = life_cycles_of(Stack(**({"release": name} if kind == RELEASE else {"kernels": [name]})), TODAY)
    assert (told.state, told.is_bad) == (UNKNOWN, False)
    assert told.sentence(TODAY).startswith("Nothing is known about until when ")


def test_a_date_that_has_passed_is_told_from_the_day_after_it() -> None:
    core = Stack(ansible_core="2.19.3")
    for today, state in ((date(2026, 11, 30), SUPPORTED), (date(2026, 12, 1), ENDED)):
        assert states(core, today) == {"2.19.3": state}
    (told,) = life_cycles_of(core, date(2026, 12, 1))
    assert told.sentence(date(2026, 12, 1)).startswith("ansible-core 2.19.3 has had no fixes since 2026-11 (")
    assert told.sentence(date(2026, 12, 1)).endswith("read on 2026-11-21); take 2.20 or newer.")
    # A module that was called without an ansible-core has none.
    assert life_cycles_of(Stack(ansible_core="0.0"), TODAY) == []


def test_a_hole_is_told_with_its_name_source_and_remedy() -> None:
    (told,) = life_cycles_of(Stack(engine="0.11.2"), TODAY)
    sentence = told.sentence(TODAY)
    assert "vLLM 0.11.2 has CVE-2026-22807: " in sentence and "; it has CVE-2026-27893: " in sentence
    assert "issues/41273, read on 2026-11-29)" in sentence and sentence.endswith("that has it.")
    assert told.as_dict(TODAY)["holes"] == ["CVE-2026-22807", "CVE-2026-27893"]


@pytest.mark.parametrize(("days", "is_told"), [(OLD_AFTER_DAYS, False), (OLD_AFTER_DAYS + 1, True), (-400, False)])
def test_data_older_than_the_stated_age_says_so(days: int, is_told: bool) -> None:
    today = date.fromisoformat("2026-11-21") + timedelta(days=days)
    told = life_cycles_of(Stack(release="1.21.0"), today)
    assert (f"read up to {days} days ago (release 1.21: 2026-11-21)" in age_sentence(told, today)) is is_told
    assert bool(age_sentence(told, today)) is is_told
    assert (f"read on 2026-11-21, {days} days ago" in told[0].sentence(today)) is is_told
    # And where nothing was judged, there is nothing to be old.
    assert age_sentence([], today) == ""


def test_only_libraries_with_a_row_are_told() -> None:
    assert states(Stack(libraries={"torch": "2.11.0", "transformers": "5.0"})) == {}
    assert [row.name for row in LIFE_CYCLES if row.kind == LIBRARY and row.state(TODAY) == ENDED] == ["optimum-habana"]
