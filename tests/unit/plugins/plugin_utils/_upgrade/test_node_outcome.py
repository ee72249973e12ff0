# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._upgrade.node_outcome import (
    EVENTS,
    OUTCOME,
    Way,
    arrived,
    failed,
    not_resumed,
    not_rolled_back,
    outcome,
    rolled_back,
)

BEFORE = {"state": "upgraded", "previous_release": "1.23.0-695", "steps": ["unload", "load"]}
DRIVER = {"package_version": "1.24.1-482", "not_started": []}
FAILURE = {"msg": "cards: found 7, expected 8."}
WAY = Way("1.24.1", {}, BEFORE, DRIVER, at_release=True, failure=FAILURE)


def test_a_node_that_is_at_the_release_is_given_back() -> None:
    assert arrived(WAY) == {
        "state": "upgraded",
        "release": "1.24.1",
        "from": "1.23.0-695",
        "to": "1.24.1-482",
        "reason": "",
        "roll_back": False,
        "resume": True,
    }


def test_what_was_not_started_again_is_told() -> None:
    way = replace(WAY, driver={**DRIVER, "not_started": ["a.service failed.", "b.service failed."]})
    assert arrived(way)["reason"] == "a.service failed. b.service failed."


@pytest.mark.parametrize(
    ("way", "state", "roll_back", "resume"),
    [
        (WAY, "unfit", True, False),
        (replace(WAY, before={**BEFORE, "steps": []}), "unfit", False, False),
        (replace(WAY, before={**BEFORE, "previous_release": None}), "unfit", False, False),
        (replace(WAY, at_release=False), "refused", False, True),
        # The module has gone back by itself, and says so.
        (replace(WAY, at_release=False, failure={**FAILURE, "state": "rolled_back"}), "rolled_back", False, True),
        (replace(WAY, at_release=False, failure={**FAILURE, "state": "failed"}), "failed", False, False),
        (replace(WAY, at_release=False, failure={"module_stdout": "", "msg": "rc -9"}), "failed", False, False),
        (replace(WAY, at_release=False, driver={"unreachable": True}), "unreachable", False, False),
        (Way("1.24.1", {"unreachable": True}, failure=FAILURE), "unreachable", False, False),
        (Way("1.24.1", failure=FAILURE), "refused", False, True),
    ],
)
def test_what_has_failed_says_where_the_node_is_and_what_follows(
    way: Way, state: str, roll_back: bool, resume: bool
) -> None:
    outcome = failed(way)
    assert (outcome["state"], outcome["roll_back"], outcome["resume"]) == (state, roll_back, resume)
    assert outcome["to"] == "1.24.1"


def test_check_mode_never_goes_back() -> None:
    assert failed(WAY, check_mode=True)["roll_back"] is False


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (FAILURE, "cards: found 7, expected 8."),
        ({}, "see the task that failed"),
        (
            {"module_stdout": "", "msg": "MODULE FAILURE"},
            (
                "A module was killed on the node (MODULE FAILURE); check its journal for the cause, and run "
                "again; the upgrade "
                "resumes where it stopped."
            ),
        ),
    ],
)
def test_the_reason_is_a_sentence(failure: dict[str, Any], reason: str) -> None:
    assert failed(replace(WAY, failure=failure))["reason"] == reason


def test_a_node_that_went_back_is_in_service_and_one_that_could_not_is_not() -> None:
    unfit = failed(WAY)
    back = rolled_back(unfit)
    assert (back["state"], back["roll_back"], back["resume"]) == ("rolled_back", False, True)
    stuck = not_rolled_back(unfit, {"msg": "no headers."})
    assert (stuck["state"], stuck["roll_back"], stuck["resume"]) == ("failed", False, False)
    assert stuck["reason"] == "cards: found 7, expected 8. Going back to 1.23.0-695 also failed: no headers."


def test_a_node_that_its_scheduler_did_not_take_back_is_drained() -> None:
    drained = not_resumed(arrived(WAY), {"msg": "the scheduler is down"})
    assert (drained["state"], drained["to"], drained["reason"]) == ("drained", "1.24.1-482", "the scheduler is down")


def test_each_event_has_its_outcome_without_what_ansible_has_added() -> None:
    told = {"release": "1.24.1", "answer": {}, "before": BEFORE, "result": DRIVER, "at_release": True}
    so_far = {**failed(WAY), "changed": False, "failed": False}
    found = {event: outcome({**told, "failure": FAILURE, "so_far": so_far, "event": event}) for event in EVENTS}
    assert {event: one["state"] for event, one in found.items()} == {
        "arrived": "upgraded",
        "failed": "unfit",
        "rolled_back": "rolled_back",
        "not_rolled_back": "failed",
        "not_resumed": "drained",
    }
    assert {frozenset(one) for one in found.values()} == {frozenset(OUTCOME)}
