# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._quarantine.mark import (
    QUARANTINED,
    RELEASED,
    RETURNED,
    Mark,
    Wanted,
    converge,
    read_mark,
    refuse_quarantined,
)


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "quarantine.json")


NOW = datetime(2026, 11, 25, 3, 12, 44, tzinfo=timezone.utc)
HEALTHY = {"state": "healthy", "stages": ["self_test", "pairs"], "reasons": [], "time": "2026-11-25T04:00:00Z"}


def mark(path, reason="card 3", owner="", hours=0.0, check_mode=False):
    return converge(Wanted(QUARANTINED, reason, owner, hours), check_mode, path, now=NOW)


def lift(state, path, owner="", outcome=None, now=NOW):
    known = Path(path).with_name("outcome.json")
    known.write_text(json.dumps(outcome or {}))
    return converge(Wanted(state, owner=owner), False, path, str(known), now)


def test_a_node_without_a_mark_is_in_service(path):
    assert read_mark(path) == Mark()
    refuse_quarantined(path)
    assert not lift(RELEASED, path)["changed"]


def test_a_node_is_marked_once_and_keeps_its_first_reason(path):
    made = mark(path)
    assert made["changed"] and made["quarantined"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", str(made["since"]))
    again = mark(path, "another")
    assert (again["changed"], again["reason"], again["since"]) == (False, "card 3", made["since"])


def test_check_mode_shows_the_mark_and_makes_none(path):
    foreseen = mark(path, check_mode=True)
    assert foreseen["changed"] and "card 3" in foreseen["diff"][0]["after"]
    assert read_mark(path) == Mark()


def test_a_node_is_released(path):
    mark(path)
    assert lift(RELEASED, path)["changed"]
    assert read_mark(path) == Mark()


def test_a_launch_is_told_why_and_how_it_ends(path):
    mark(path, "card 3 is to be replaced.")
    with pytest.raises(
        GaudiError, match=r"^it has been in quarantine since \S+Z: card 3 is to be replaced; return it with"
    ):
        refuse_quarantined(path)


@pytest.mark.parametrize("text", ["", "no json", "[]", json.dumps({"reason": 7})])
def test_a_file_that_is_none_of_ours_keeps_a_node_out_all_the_same(path, text):
    Path(path).write_text(text)
    with pytest.raises(GaudiError, match="in quarantine since an unknown time"):
        refuse_quarantined(path)


def test_a_mark_ends_by_itself_where_that_was_said(path):
    assert mark(path, hours=1.5)["until"] == "2026-11-25T04:42:44Z"
    assert read_mark(path, NOW + timedelta(hours=1)).reason == "card 3"
    assert read_mark(path, NOW + timedelta(hours=2)) == Mark()
    # What has ended is made anew, for its new reason.
    again = converge(Wanted(QUARANTINED, "card 5"), False, path, now=NOW + timedelta(hours=2))
    assert (again["changed"], again["reason"], again["until"]) == (True, "card 5", "")


@pytest.mark.parametrize("owner", ["$(id)", "--state", "../x", "anna and bob"])
def test_an_owner_is_one_word(path, owner):
    with pytest.raises(GaudiError, match=r"^owner is .*; give one word, such as anna"):
        mark(path, owner=owner)
    assert not Path(path).exists()


@pytest.mark.parametrize("hours", [-1, 1e12])
def test_an_end_that_cannot_be_meant_is_refused(path, hours):
    with pytest.raises(GaudiError, match=r"^hours is \S+; give 0, which sets no limit, or up to 8760, one year\.$"):
        mark(path, hours=hours)
    assert not Path(path).exists()


@pytest.mark.parametrize("state", [RETURNED, RELEASED])
def test_a_program_does_not_lift_what_a_person_has_set(path, state):
    mark(path, owner="anna")
    with pytest.raises(
        GaudiError, match=r"^owner alerts: the quarantine, since \S+Z for card 3, belongs to anna; leave"
    ):
        lift(state, path, owner="alerts", outcome=HEALTHY)
    assert read_mark(path, NOW).owner == "anna"
    assert lift(state, path, owner="anna", outcome=HEALTHY)["changed"]


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (None, "it has not been qualified; run qualify_nodes.yml"),
        ({**HEALTHY, "time": "2026-11-25T03:12:44Z"}, "its last qualification is older (2026-11-25T03:12:44Z"),
        (
            {**HEALTHY, "state": "unhealthy", "reasons": ["card 3 is cold."]},
            "says unhealthy: card 3 is cold. Repair it",
        ),
        (
            {**HEALTHY, "state": "inconclusive"},
            "says inconclusive: no reason given. That is not a fault, but it is not qualified: run qualify_nodes.yml",
        ),
        ({**HEALTHY, "stages": ["self_test", "compute"]}, "measured it alone, and links need two ends"),
    ],
)
def test_a_node_is_returned_only_where_it_was_qualified_since(path, outcome, why):
    mark(path)
    with pytest.raises(GaudiError, match=r"^it stays in quarantine, since \S+Z for card 3: ") as refused:
        lift(RETURNED, path, outcome=outcome)
    assert why in str(refused.value)
    assert read_mark(path, NOW).since


def test_a_qualified_node_is_returned(path):
    mark(path)
    assert lift(RETURNED, path, outcome=HEALTHY)["changed"]
    assert read_mark(path, NOW) == Mark()
    assert not lift(RETURNED, path)["changed"], "and is in service"


def test_a_mark_of_an_unknown_time_is_before_each_qualification(path):
    Path(path).write_text("{}")
    assert lift(RETURNED, path, outcome=HEALTHY)["changed"]
