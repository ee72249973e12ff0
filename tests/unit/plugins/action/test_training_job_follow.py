# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.action.training_job_follow import find_supervision
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.plugin_utils import _silent_nodes
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_action import UnreachableError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._worker_group_watch import WorkerGroupWatch

RECENT = -8192
PEER = {"rank": 0, "echo": 1, "time": 1.0, "exception": "", "message": "lost a peer", "lines": [], "path": "/log/0"}
CAUSE = {
    "rank": 1,
    "echo": 0,
    "time": 2.0,
    "exception": "ValueError",
    "message": "bad",
    "lines": ["x"],
    "path": "/log/1",
}


class Node:
    """A node whose worker group goes through ``story``, one word at each look; the last one stays."""

    def __init__(self, *story, failure=None, metrics=()):
        self.story = list(story)
        self.failure = failure
        self.metrics = list(metrics)
        self.reported = []

    def command(self, command, _timeout, *, as_become_user):
        if "stop" in command:
            assert as_become_user
            self.reported.append("stop")
            return ""
        return f"ActiveState={'active' if self._state(look=True) == 'running' else 'inactive'}\n"

    def module(self, name, arguments, _timeout):
        if name.endswith("training_job"):
            self.reported.append(arguments["state"])
            self.story = ["stopped"]
            return {"changed": True}
        state = self._state(look="metrics_after" in arguments)
        offset = max(0, arguments.get("metrics_after", 0))
        return {
            "state": state,
            "failure": self.failure if state == "failed" else None,
            "metrics": self.metrics[offset : offset + 1],
            "metrics_offset": offset + len(self.metrics[offset : offset + 1]),
            "last_metrics": {"step": 9},
            "first_loss": 5.5,
            "last_loss": 1.0,
        }

    def _state(self, look):
        state = self.story[0]
        if look and len(self.story) > 1:
            self.story.pop(0)
        if state == "silent":
            raise UnreachableError("no route")
        return state


@pytest.fixture
def follow():
    """Follows a job on the given nodes; returns the result and the lines on the screen."""
    lines = []

    def run(nodes, **changes):
        options = {
            "interval": 0.001,
            "timeout": None,
            "answer_timeout": 1,
            "unreachable_timeout": 5,
            "settle_time": 0.05,
            "state_directory": "/state",
            "log_directory": "/log",
            **changes,
        }
        return WorkerGroupWatch(JobPaths("llama"), options, nodes, lines.append, RECENT).follow(), lines

    return run


def test_a_job_is_shown_until_it_has_ended_on_all_nodes(follow):
    steps = [{"kind": "step", "step": step} for step in (1, 2)]
    nodes = {"n1": Node(*["running"] * 3, "succeeded", metrics=steps), "n2": Node(*["running"] * 6, "succeeded")}
    result, lines = follow(nodes)
    assert (result["state"], result["last_loss"]) == ("succeeded", 1.0)
    assert "failed" not in result
    assert result["nodes"] == {"n1": "succeeded", "n2": "succeeded"}
    assert lines[1:] == ["step 1", "step 2"]
    assert nodes["n2"].reported == []


def test_a_job_that_has_run_for_a_while_is_shown_from_its_last_lines_on(follow):
    class Busy(Node):
        """Each look finds five new lines."""

        def module(self, name, arguments, timeout):
            info = super().module(name, arguments, timeout)
            begun = max(0, arguments["metrics_after"])
            lines = [{"kind": "step", "step": step} for step in range(begun + 1, begun + 6)]
            return {**info, "metrics": lines, "metrics_offset": begun + 5}

    lines = follow({"n1": Busy("running", "succeeded")})[1]
    assert lines[1:] == ["Its last lines:", *(f"step {step}" for step in range(3, 11))]


@pytest.mark.parametrize(("result", "waits"), [("", [None, 1, 1]), ("RUNNING", [None, None, None])])
def test_the_first_node_answers_when_its_worker_group_ends_but_for_a_schedulers_job(follow, result, waits):
    asked = []

    class Asked(Node):
        def module(self, name, arguments, timeout):
            asked.append(arguments["timeout"] if arguments.get("wait") else None)
            return {**super().module(name, arguments, timeout), "result": result}

    found, _lines = follow({"n1": Asked("running", "running", "succeeded")})
    assert (found["state"], asked) == ("succeeded", waits)


def test_a_failure_on_one_node_ends_the_job_on_all_and_names_the_cause(follow):
    nodes = {
        "n1": Node("running", "running", "running", "failed", failure=PEER),
        "n2": Node("running", "failed", failure=CAUSE),
        "n3": Node("running"),
    }
    result, _ = follow(nodes)
    assert result["failed"]
    assert result["msg"] == (
        "Job llama failed: rank 1 on n2 failed first: ValueError: bad\n    x\nrank 0 on n1 followed: it lost a peer\n"
        "The whole log is /log/1 on n2."
    )
    assert result["nodes"] == {"n1": "failed", "n2": "failed", "n3": "stopped"}
    assert [nodes[host].reported for host in nodes] == [[], [], ["stop", "stopped"]]


def test_a_share_that_never_started_ends_the_others(follow):
    nodes = {"n1": Node("running"), "n2": Node("absent")}
    result, _ = follow(nodes)
    assert "Job llama is not on n2" in result["msg"]
    assert nodes["n1"].reported == ["stop", "stopped"]


def test_a_node_may_be_away_for_a_while(follow):
    nodes = {"n1": Node("running", "succeeded"), "n2": Node("running", "silent", "silent", "running", "succeeded")}
    result, lines = follow(nodes)
    assert result["state"] == "succeeded"
    assert [line.partition(",")[0] for line in lines if "n2" in line] == [
        "n2 does not answer: no route",
        "n2 responds again",
    ]


def test_a_job_is_not_ended_for_a_node_that_stays_away(follow):
    nodes = {"n1": Node(*["running"] * 60, "succeeded"), "n2": Node("running", *["silent"] * 50, "succeeded")}
    result, _ = follow(nodes, unreachable_timeout=0.01)
    assert result["state"] == "succeeded"
    assert [node.reported for node in nodes.values()] == [[], []]


def test_a_job_whose_nodes_are_all_silent_is_left_alone_and_no_failure(follow):
    nodes = {"n1": Node("running", "silent"), "n2": Node("running", "silent"), "n3": Node("succeeded")}
    result, _ = follow(nodes, unreachable_timeout=0.05)
    assert (result["state"], result.get("failed")) == ("out_of_sight", None)
    assert result["msg"].startswith(
        "Lost contact with job llama: none of its nodes has responded for 0 s (n1: no route; n2: no route). The "
        "job was left"
    )
    assert [node.reported for node in nodes.values()] == [[], [], []]


def test_a_play_that_was_stopped_itself_has_missed_nobody(monkeypatch):
    """A controller that stands still for an hour between two looks, and then meets one node that is slow."""
    clock = [0.0]
    monkeypatch.setattr(_silent_nodes.time, "monotonic", lambda: clock[0])
    silent = _silent_nodes.SilentNodes(lambda _line: None)
    silent.heard("n1")
    clock[0] = 3600.0
    silent.missed("n1", "no answer within 30 s")
    assert silent.seconds("n1") == 0.0
    assert not silent.all_of(["n1"], 120)


def test_a_silent_node_has_a_line_a_minute(monkeypatch):
    clock, lines = [0.0], []
    monkeypatch.setattr(_silent_nodes.time, "monotonic", lambda: clock[0])
    silent = _silent_nodes.SilentNodes(lines.append)
    for clock[0] in range(0, 150, 5):
        silent.missed("n1", "no route")
    silent.heard("n1")
    assert lines == [
        "n1 does not answer: no route",
        "n1 has not responded for 1 min 00 s: no route",
        "n1 has not responded for 2 min 00 s: no route",
        "n1 responds again, after 2 min 25 s.",
    ]


def test_a_failure_names_the_silent_nodes_that_were_not_asked_to_end(follow):
    nodes = {"n1": Node("running", "running", "failed", failure=CAUSE), "n2": Node("running", "silent")}
    result, _ = follow(nodes)
    assert result["msg"].startswith("Job llama failed: rank 1 on n1 failed first: ValueError: bad\n")
    assert result["msg"].endswith(
        "\nn2 did not respond: make sure that the job has ended there before you launch it again."
    )


class Knowing:
    """A node that says what it knows of the job, one answer of ``story`` at each question; the last one stays."""

    def __init__(self, *story):
        self.story = list(story)

    def module(self, _name, _arguments, _timeout):
        answer = self.story.pop(0) if len(self.story) > 1 else self.story[0]
        if answer is None:
            raise UnreachableError("no answer within 30 s")
        return answer


SUPERVISED = {"description": {"name": "llama", "supervision": {"spares": []}}}
ALONE = {"description": {"name": "llama"}}
NO_SUCH_JOB = {"description": {}}
NO_FORK = {"failed": True, "msg": "fork: Cannot allocate memory"}


@pytest.mark.parametrize(
    ("nodes", "supervised"),
    [
        ([[SUPERVISED], [SUPERVISED]], True),
        ([[ALONE], [None]], False),
        ([[None, None, SUPERVISED], [None, None, None, SUPERVISED]], True),
        ([[NO_SUCH_JOB], [None, None, SUPERVISED]], True),
        ([[NO_FORK, SUPERVISED], [None, NO_FORK, SUPERVISED]], True),
        ([[NO_SUCH_JOB], [NO_SUCH_JOB]], False),
    ],
    ids=["answers", "alone", "silent at first", "the one without it answers", "starved", "nobody has it"],
)
def test_no_answer_is_asked_again_and_says_nothing_of_supervision(nodes, supervised):
    options = {"state_directory": "/s", "log_directory": "/l", "answer_timeout": 1, "interval": 0.001}
    asked = {f"n{number}": Knowing(*story) for number, story in enumerate(nodes)}
    found = find_supervision(JobPaths("llama"), {**options, "unreachable_timeout": 5}, asked, lambda _line: None)
    assert found == (supervised, "")


def test_a_job_that_nobody_answers_for_is_out_of_sight():
    options = {"state_directory": "/s", "log_directory": "/l", "answer_timeout": 1, "interval": 0.001}
    nodes = {"n1": Knowing(NO_SUCH_JOB), "n2": Knowing(None)}
    found = find_supervision(JobPaths("llama"), {**options, "unreachable_timeout": 0.02}, nodes, lambda _line: None)
    assert found[0] is False
    assert (
        "Lost contact with job llama: none of its nodes has responded for 0 s (n2: no answer within 30 s)." in found[1]
    )


def test_a_node_that_has_ended_is_not_asked_and_not_missed(follow):
    nodes = {"n1": Node(*["running"] * 40, "succeeded"), "n2": Node("succeeded", "succeeded", "silent")}
    assert follow(nodes, unreachable_timeout=0.02)[0]["state"] == "succeeded"


def test_the_job_goes_on_when_the_time_to_follow_is_over(follow):
    nodes = {"n1": Node("running"), "n2": Node("running")}
    result, _ = follow(nodes, timeout=0.02)
    assert result["failed"]
    assert "It continues; launch it again to follow it." in result["msg"]
    assert nodes["n1"].reported == nodes["n2"].reported == []


class LogNode:
    """A node that has nothing but logs, or does not answer."""

    def __init__(self, failure=None, silent=False):
        self.failure, self.silent = failure, silent

    def module(self, _name, arguments, _timeout):
        assert arguments == {"name": "llama", "log_directory": "/log", "failure_in_logs": True, "log_lines": 0}
        if self.silent:
            raise UnreachableError("no route")
        return {"state": "absent", "failure": self.failure}


class SlurmNode(Node):
    """The first host of a job of Slurm's, which tells the state there, too."""

    def module(self, name, arguments, timeout):
        words = {"waiting": "PENDING (Resources)", "running": "RUNNING"}
        word = self.story[0]
        info = super().module(name, arguments, timeout)
        state = "running" if word in words else info["state"]
        return {**info, "state": state, "result": words.get(word, "FAILED"), "started": 10.0}


def follow_slurm(node, others, chosen=None):
    lines = []
    options = {
        "interval": 0.001,
        "timeout": None,
        "answer_timeout": 1,
        "unreachable_timeout": 5,
        "settle_time": 0.05,
        "state_directory": "/state",
        "log_directory": "/log",
    }
    found = (chosen or {}).get
    return WorkerGroupWatch(
        JobPaths("llama"), options, {"n1": node}, lines.append, RECENT, others, found
    ).follow(), lines


def test_a_rank_that_failed_on_a_node_of_slurms_is_named_from_its_logs():
    others = {
        "n2": LogNode({**CAUSE, "time": 12.0}),
        "n3": LogNode(silent=True),
        # Of a run before this one.
        "n4": LogNode({**CAUSE, "time": 9.0, "message": "old"}),
        "n5": LogNode(),
    }
    node = SlurmNode("running", "failed", failure={**PEER, "time": 11.0})
    result, lines = follow_slurm(node, others)
    assert result["msg"].startswith("Job llama failed: rank 1 on n2 failed first: ValueError: bad\n")
    assert "n3 did not return its logs: no route" in lines


def test_a_node_that_replaced_another_is_found_by_its_name_in_slurm():
    class Chosen(SlurmNode):
        """Slurm takes node3 for node2, and has forgotten the job when it is over."""

        def module(self, name, arguments, timeout):
            nodes = {"running": ["node1", "node2"], "again": ["node1", "node3", "node9"]}.get(self.story[0], [])
            if self.story[0] == "again":
                self.story = ["running", *self.story[1:]]
            return {**super().module(name, arguments, timeout), "nodes": nodes}

    node = Chosen("running", "again", "failed", failure={**PEER, "time": 11.0})
    asked_once = LogNode({**PEER, "time": 13.0})
    chosen = {
        "node1": ("n1", LogNode({**CAUSE, "time": 12.0, "message": "is asked as the first host"})),
        "node2": ("n2", asked_once),
        "node3": ("n3", LogNode({**CAUSE, "time": 12.0})),
    }
    result, lines = follow_slurm(node, {"n2": asked_once}, chosen)
    assert result["msg"].startswith("Job llama failed: rank 1 on n3 failed first: ValueError: bad\n")
    assert "node9 had ranks of the job but is not in the inventory; its logs are only on that node." in lines


def test_each_state_of_slurms_is_told_once():
    node = SlurmNode("waiting", "waiting", "running", "running", "waiting", "running", "failed", failure=CAUSE)
    _result, lines = follow_slurm(node, {})
    reported = [line for line in lines if line.startswith("Slurm")]
    waits, runs = "Slurm has the job as PENDING (Resources).", "Slurm has the job as RUNNING."
    assert reported == [waits, runs, waits, runs]
