# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.status import status_from
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.watch import (
    MOST_REPORTED,
    job_story,
    worker_group_words,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils import _supervised_watch as supervised_watch
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_action import UnreachableError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._supervised_watch import SupervisedWatch

FAILURE = {
    "host": "n2",
    "rank": 1,
    "echo": 0,
    "time": 2.0,
    "exception": "ValueError",
    "message": "bad",
    "lines": ["x"],
    "path": "/log/1",
}


def reported(leader="n1", members=("n1", "n2"), generation=1, state="running", **changes):
    return {
        "time": 1.0,
        "state": state,
        "generation": generation,
        "members": list(members),
        "leader": leader,
        "alive": ["n1", "n2", "n3"],
        "reason": "",
        **changes,
    }


class Node:
    """A node that gives one answer of ``story`` at each look, the last one again and again; None: it is silent."""

    def __init__(self, *story):
        self.story = list(story)
        self.asked = 0
        self.waits = []

    def module(self, name, arguments, _timeout):
        assert name.endswith("training_job_info")
        self.asked += 1
        self.waits = [*self.waits, arguments["timeout"] if arguments.get("wait_for_event") else 0]
        info = self.story.pop(0) if len(self.story) > 1 else self.story[0]
        if info is None:
            raise UnreachableError("no route")
        events = info.get("events", [])
        metrics = info.get("metrics", [])
        after, seen = arguments["events_after"], max(0, arguments["metrics_after"])
        return {
            "state": "running",
            "log_directory": "/log/jobs/llama",
            "last_step": {"step": 2},
            **info,
            "events": events[after:],
            "events_offset": len(events),
            "metrics": metrics[seen:],
            "metrics_offset": len(metrics),
            "last_loss": 1.0,
        }


@pytest.fixture
def follow(monkeypatch):
    monkeypatch.setattr(supervised_watch, "ROUND_S", 0.0)

    def run(nodes, **changes):
        lines = []
        options = {
            "interval": 0.001,
            "timeout": None,
            "answer_timeout": 1,
            "unreachable_timeout": 5,
            "state_directory": "/state",
            "log_directory": "/log",
            **changes,
        }
        return SupervisedWatch("llama", options, nodes, lines.append, -4096).follow(), lines

    return run


def step(number):
    return {"kind": "step", "step": number}


def event(text, kind="run", generation=1, host=None):
    return {"time": 1.0, "kind": kind, "generation": generation, "host": host, "text": text}


def test_only_the_node_of_rank_0_is_asked_while_all_is_well(follow):
    running = {"supervision": reported(), "metrics": [step(1), step(2)], "events": [event("begun")]}
    ended = {**running, "state": "succeeded", "supervision": reported(state="ended", outcome="succeeded")}
    nodes = {"n1": Node(running, running, ended), "n2": Node({}), "n3": Node({})}
    result, lines = follow(nodes)
    assert (result["state"], result["last_loss"], result.get("failed")) == ("succeeded", 1.0, None)
    assert result["last_step"] == {"step": 2}
    assert lines[1:] == ["begun", "step 1", "step 2"]
    assert result["nodes"] == {"n1": "succeeded", "n2": "succeeded", "n3": "spare"}
    assert nodes["n2"].asked == nodes["n3"].asked == 0


def test_the_node_that_leads_waits_for_the_next_event_and_what_it_tells_is_shown_at_once(follow, monkeypatch):
    naps = []
    monkeypatch.setattr(supervised_watch.time, "sleep", naps.append)
    quiet = {"supervision": reported(), "events": [event("begun")]}
    failed = {**quiet, "events": [event("begun"), event("rank 1 failed", "rank_failed")]}
    ended = {**failed, "state": "failed", "supervision": reported(state="ended", outcome="failed", failure=FAILURE)}
    nodes = {"n1": Node(quiet, quiet, failed, ended), "n2": Node({})}
    _, lines = follow(nodes, interval=4.5)
    assert nodes["n1"].waits == [0, 5, 5, 5]
    assert lines[1:] == ["begun", "rank 1 failed"]
    # Only after the look that had nothing new; here it took no time.
    assert naps == [pytest.approx(4.5, abs=0.4)]


def test_a_hang_is_told_with_the_place_of_the_stacks(follow):
    hang = event("no step for 15 s; rank 2 on n2 is at step 4.", "hang", host="n2")
    running = {"supervision": reported(), "events": [hang]}
    ended = {**running, "state": "succeeded", "supervision": reported(state="ended", outcome="succeeded")}
    _, lines = follow({"n1": Node(running, ended)})
    said = f"{hang['text']} The stacks are in /log/jobs/llama/stacks/generation-1 on the ranks' nodes."
    assert lines[1:] == [said]
    assert job_story({"events": [hang], "log_directory": "/log/jobs/llama"}, {}) == [said]


def test_a_lost_leader_is_followed_by_the_one_that_the_others_name(follow):
    before = {"supervision": reported(), "metrics": [step(1)], "events": [event("begun")]}
    moved = reported(leader="n2", members=("n2", "n3"), generation=2, alive=["n2", "n3"])
    after = {"supervision": moved, "metrics": [step(2)], "events": [event("begun"), event("n1 was lost", "node_lost")]}
    ended = {**after, "state": "succeeded", "supervision": {**moved, "state": "ended", "outcome": "succeeded"}}
    nodes = {"n1": Node(before, None), "n2": Node(after, ended), "n3": Node({"supervision": moved})}
    result, lines = follow(nodes)
    assert lines[1:] == ["begun", "step 1", "n1 does not answer: no route", "n1 was lost", "step 2"]
    assert result["nodes"] == {"n1": "lost", "n2": "succeeded", "n3": "succeeded"}


def test_a_node_that_was_cut_off_does_not_speak_for_the_job(follow):
    """Its own status is that of the time before: it leads nothing, and waits."""
    cut = {"supervision": reported(state="waiting")}
    moved = reported(leader="n2", members=("n2", "n3"), generation=2, state="ended", outcome="failed", failure=FAILURE)
    result, _ = follow({"n1": Node(cut), "n2": Node({"state": "failed", "supervision": moved}), "n3": Node(None)})
    assert result["failed"]
    assert result["msg"] == (
        "Job llama failed: rank 1 on n2 failed first: ValueError: bad\n    x\nThe whole log is /log/1 on n2."
    )


def test_the_job_is_left_alone_when_no_node_answers(follow):
    result, _ = follow({"n1": Node(None), "n2": Node(None)}, unreachable_timeout=0.02)
    assert (result["state"], result.get("failed")) == ("out_of_sight", None)
    assert "Lost contact with job llama: none of its nodes has responded for" in result["msg"]


@pytest.mark.parametrize("left", [{"state": "failed", "supervision": reported()}, {"state": "absent"}])
def test_a_node_without_a_part_in_the_job_says_nothing_of_those_that_are_silent(follow, left):
    """One that was rebooted, or was left out at the launch, and answers while the others are starved."""
    ended = reported(state="ended", outcome="succeeded")
    n2 = Node(None, None, None, {"state": "succeeded", "supervision": ended})
    result, _ = follow({"n1": Node(left), "n2": n2})
    assert (result["state"], result.get("failed")) == ("succeeded", None)
    unseen, _ = follow({"n1": Node(left), "n2": Node(None)}, unreachable_timeout=0.02)
    assert (unseen["state"], unseen.get("failed")) == ("out_of_sight", None)


def test_a_job_that_nobody_ended_is_told(follow):
    result, _ = follow({"n1": Node({"state": "failed", "supervision": reported()}), "n2": Node({"state": "failed"})})
    assert "its supervisors were stopped before they could report why" in result["msg"]


def test_a_stopped_job_is_no_success(follow):
    ended = reported(state="ended", outcome="stopped", reason="somebody stopped the job")
    result, _ = follow({"n1": Node({"state": "stopped", "supervision": ended})})
    assert (result["failed"], result["state"]) == (True, "stopped")
    assert "was stopped before it was done (somebody stopped the job)" in result["msg"]


def test_the_job_goes_on_when_the_time_to_follow_is_over(follow):
    result, _ = follow({"n1": Node({"supervision": reported()})}, timeout=0.02)
    assert "It continues; launch it again to follow it." in result["msg"]


def test_nothing_is_said_of_nodes_where_no_supervisor_has_told_anything():
    assert worker_group_words(["n1"], status_from({})) == {}


def test_the_story_has_a_line_an_event_and_the_nodes_that_were_left_out():
    events = [event("Generation 1 runs."), event("rank 1 failed\nwith lines", "rank_failed"), event("3 of 3", "grown")]
    assert job_story({"events": events}, {"n4": "it does not answer"}) == [
        "started without n4: it does not answer",
        "rank 1 failed",
        "3 of 3",
    ]
    many = {"events": [event(f"lost {number}", "node_lost") for number in range(20)], "log_directory": "/log"}
    assert job_story(many, {})[:2] == [f"{20 - MOST_REPORTED} earlier events are in /log/events.jsonl", "lost 8"]


def test_a_job_that_tells_no_steps_is_seen_to_live(follow, monkeypatch):
    monkeypatch.setattr(supervised_watch, "OUTSIDE_S", 0.0)
    silent = {"last_step": {}, "supervision": reported()}
    used = {
        "usage": {"cores": 3.94, "of_cores": 160.0, "memory_bytes": float(41 << 30)},
        "rank_log": {"lines": ["a\x1b"]},
    }
    end = {**silent, "state": "succeeded", "supervision": reported(state="ended", outcome="succeeded")}
    result, lines = follow({"n1": Node(silent, {**silent, **used}, end), "n2": Node(silent)})
    assert result["state"] == "succeeded"
    assert [line for line in lines if "process activity" in line] == [
        'no step reported yet; process activity on n1: 3.9 of 160 cores, 41.0 GiB; the first rank\'s last line: "a"'
    ]


def test_of_a_job_that_tells_its_steps_nothing_else_is_shown(follow, monkeypatch):
    monkeypatch.setattr(supervised_watch, "OUTSIDE_S", 0.0)
    one = {"usage": {"cores": 3.9}, "supervision": reported(), "metrics": [step(1)], "last_step": step(1)}
    end = {**one, "state": "succeeded", "supervision": reported(state="ended", outcome="succeeded")}
    assert not [line for line in follow({"n1": Node(one, one, end)})[1] if "process activity" in line]
