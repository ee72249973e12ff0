# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is shown while instances warm up."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._serving.progress import Progress, joined, waits


def row(
    name: str = "chat", state: str = "starting", warm_up: str = "warm-up Decode 6/48", done: int = 6
) -> dict[str, Any]:
    unit = f"gaudi3-scale-serving-{name}.service"
    return {"name": name, "state": state, "warm_up": warm_up, "done": done, "of": 48, "unit": unit}


def test_each_that_does_not_answer_has_a_line_and_from_the_second_on_an_end():
    progress = Progress()
    both = [row(), row("draft", state="answering")]
    assert list(progress.lines("node1", both, 0.0)) == ["node1: chat: warm-up Decode 6/48"]
    later = [row(warm_up="warm-up Decode 26/48", done=26)]
    assert list(progress.lines("node1", later, 10.0)) == [
        "node1: chat: warm-up Decode 26/48, about 11 s left of this phase"
    ]
    slow = [row(warm_up="warm-up Decode 27/48", done=27)]
    assert list(progress.lines("node1", slow, 40.0)) == [
        "node1: chat: warm-up Decode 27/48, about 10 min left of this phase"
    ]


def test_it_waits_until_all_answer_and_not_for_a_failure():
    assert waits({"instances": [row(state="answering"), row()]})
    assert not waits({"instances": [row(state="answering")]})
    assert not waits({"failed": True, "instances": [row()]})
    assert not waits({})


def test_the_result_has_what_the_first_call_changed_and_how_all_stand_at_the_end():
    first = {"changed": True, "steps": ["start chat"], "diff": [{}], "removed": [], "instances": [row()]}
    last = {"changed": False, "steps": [], "diff": [], "removed": [], "instances": [row(state="answering")]}
    found = joined(first, last)
    assert (found["changed"], found["steps"], found["instances"][0]["state"]) == (True, ["start chat"], "answering")


def test_one_that_takes_too_long_is_told_with_what_to_do():
    assert Progress.too_late([row(state="answering"), row("draft")]) == (
        "instance draft has not answered within ready_timeout (warm-up Decode 6/48), and goes on starting; run this "
        "again to wait for it, or see `journalctl -u gaudi3-scale-serving-draft.service` on the node."
    )
