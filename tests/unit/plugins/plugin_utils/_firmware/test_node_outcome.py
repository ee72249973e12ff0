# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._firmware.node_outcome import (
    BEGUN,
    EVENTS,
    ended,
    failed,
    not_resumed,
    outcome,
    stops,
)


def test_a_node_ends_written_foreseen_or_waiting_for_its_power_cycle() -> None:
    assert ended({"power_cycle_needed": []}) == {"state": "written", "reason": ""}
    assert ended({"power_cycle_needed": []}, check_mode=True) == {"state": "would be written", "reason": ""}
    waiting = ended({"power_cycle_needed": ["0", "1"]}, check_mode=True)
    assert waiting["state"] == "power cycle needed"
    assert waiting["reason"] == (
        "2 cards were written and still show their old version; power cycle the node, then run this again."
    )


@pytest.mark.parametrize(
    ("result", "so_far", "state"),
    [
        ({}, {}, "refused"),
        # In check mode nothing begins.
        ({}, {"skipped": True, "changed": False}, "refused"),
        ({"cards": []}, BEGUN, "failed"),
        ({"unreachable": True}, BEGUN, "unreachable"),
        ({"unreachable": True}, {}, "unreachable"),
    ],
)
def test_a_node_was_refused_until_writing_has_begun(
    result: Mapping[str, Any], so_far: Mapping[str, Any], state: str
) -> None:
    assert failed({"msg": "no."}, result, so_far) == {"state": state, "reason": "no."}


def test_a_failure_without_words_points_to_its_task() -> None:
    assert failed({}, {}, {})["reason"] == "see the task that failed"
    assert not_resumed({})["reason"] == "it could not be resumed: see the task that failed"


@pytest.mark.parametrize(
    ("states", "batch", "expected"),
    [
        ({"a": "written"}, ["a"], False),
        ({"a": "failed"}, ["a"], True),
        ({"a": "unreachable"}, ["a"], True),
        # It has tried nothing.
        ({"a": "refused"}, ["a"], False),
        ({"a": "refused", "b": "failed"}, ["b"], True),
        ({"a": "power cycle needed", "b": "failed"}, ["b"], True),
        ({"a": "written", "b": "failed"}, ["b"], False),
        # Who else of the round has written does not count.
        ({"a": "written", "b": "failed"}, ["a", "b"], True),
        ({}, ["a"], False),
    ],
)
def test_only_a_first_round_that_went_wrong_ends_it(
    states: Mapping[str, str], batch: Sequence[str], expected: bool
) -> None:
    assert stops(states, batch) is expected


def test_each_event_has_its_outcome() -> None:
    told = {"failure": {"msg": "no."}, "result": {}, "so_far": {}}
    states = {event: outcome({**told, "event": event})["state"] for event in EVENTS}
    assert states == {"begun": "failed", "ended": "written", "failed": "refused", "not_resumed": "unchanged"}
