# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.agent_table import AgentEntry, agent_entries
from ansible_collections.gaudi3.scale.plugins.module_utils._job.failure import (
    agent_failure,
    first_failure,
    lost_node,
    rank_failure,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.log_lines import log_lines
from ansible_collections.gaudi3.scale.plugins.module_utils._job.reported_failure import (
    failure_sentence,
    first_failure_of,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.tracebacks import uncaught

UNCAUGHT = "[rank1]: Traceback (most recent call last):\n"
ABORTED = "terminate called without an active exception"
FIXTURES = Path(__file__).parents[3] / "fixtures/job_failure"


def recorded(name):
    return (FIXTURES / name).read_text(encoding="utf-8")


def unix(text):
    return datetime.datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f").timestamp()


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        # torchrun of torch 2.13, two agents with two ranks each: rank 3 was killed, its node's other rank ended.
        (
            "killed.log",
            [
                AgentEntry(2, 0, -15, unix("2026-11-21 09:12:46.0"), wrote_error=False),
                AgentEntry(3, 1, -9, unix("2026-11-21 09:12:46.979"), wrote_error=False),
            ],
        ),
        # The other node: rank 1 lost its peer.
        (
            "lost_peer.log",
            [
                AgentEntry(0, 0, -15, unix("2026-11-21 09:12:47.0"), wrote_error=False),
                AgentEntry(1, 1, 1, unix("2026-11-21 09:12:47.864"), wrote_error=False),
            ],
        ),
        # Rank 3 raised under torch's @record, and without it.
        (
            "recorded.log",
            [
                AgentEntry(2, 0, -15, unix("2026-11-21 09:12:37.0"), wrote_error=False),
                AgentEntry(
                    3,
                    1,
                    1,
                    unix("2026-11-21 09:12:37.641"),
                    wrote_error=True,
                ),
            ],
        ),
        (
            "raised.log",
            [
                AgentEntry(2, 0, -15, unix("2026-11-21 09:12:27.0"), wrote_error=False),
                AgentEntry(3, 1, 1, unix("2026-11-21 09:12:27.624"), wrote_error=False),
            ],
        ),
    ],
)
def test_the_table_of_the_agent_is_read(name, entries):
    assert agent_entries(recorded(name)) == entries


@pytest.mark.parametrize("text", ["", "Traceback\nModuleNotFoundError: no torch\n", "x FAILED\n", "[0]:\n  rank : x\n"])
def test_output_without_a_table_names_no_rank(text):
    assert agent_entries(text) == []


def test_only_the_last_table_counts():
    assert agent_entries(recorded("killed.log") + recorded("raised.log")) == agent_entries(recorded("raised.log"))


ENTRY = AgentEntry(3, 1, 1, 100.5, wrote_error=False)


@pytest.mark.parametrize(
    ("exit_code", "error_file", "stderr", "exception", "message", "echo"),
    [
        (1, recorded("error.json"), "", "ValueError", "recorded bad thing on rank 3", 0),
        (1, None, "Traceback:\n  x\nValueError: bad\n", "ValueError", "bad", 0),
        (1, None, "[rank3]: torch.cuda.OutOfMemoryError: much\n", "OutOfMemoryError", "much", 0),
        (1, None, recorded("lost_peer_stderr.log"), "RuntimeError", "[/__w/", 1),
        (2, None, "usage: x\nx: error: no such option\n", "", "x: error: no such option", 0),
        (3, None, "", "", "exit status 3", 0),
        (-9, None, "some warning\n", "", "killed by SIGKILL", 0),
        (-11, recorded("error.json"), "", "ValueError", "recorded bad thing on rank 3", 0),
        (-15, None, "", "", "killed by SIGTERM", 2),
        (
            -6,
            None,
            f"{UNCAUGHT}[rank1]: ValueError: bad\n{ABORTED}\nFatal Python error: Aborted\n",
            "ValueError",
            "bad",
            0,
        ),
        (
            -6,
            None,
            f"{UNCAUGHT}[rank1]: RuntimeError: Connection closed by peer\n{ABORTED}\n",
            "RuntimeError",
            "Connection",
            1,
        ),
        (-6, None, f"{ABORTED}\n", "", "killed by SIGABRT", 0),
        (1, "{broken", "KeyError: 'x'\n", "KeyError", "'x'", 0),
        (1, '{"message": "plain text"}', "", "", "plain text", 0),
        (1, '{"message": {"message": "OSError: a\\nb"}}', "", "OSError", "a", 0),
    ],
)
def test_the_reason_of_a_rank(exit_code, error_file, stderr, exception, message, echo):
    failure = rank_failure(AgentEntry(3, 1, exit_code, 100.5, wrote_error=False), error_file, stderr, "/log")
    assert (failure.exception, failure.echo) == (exception, echo)
    assert failure.message.startswith(message)
    assert (failure.rank, failure.time, failure.path) == (3, 100.5, "/log")


def test_the_last_lines_are_kept_without_torchs_prefix():
    stderr = "".join(f"[rank3]: line {number}\n\n" for number in range(40))
    assert rank_failure(ENTRY, None, stderr, "/log").lines == tuple(f"line {number}" for number in range(25, 40))


def failed(rank, exit_code, time, text=""):
    return rank_failure(AgentEntry(rank, rank % 2, exit_code, time, wrote_error=False), None, text, f"/log/{rank}")


PEER = "RuntimeError: Connection closed by peer [192.0.2.1]:5\n"


@pytest.mark.parametrize(
    ("failures", "rank"),
    [
        ([], None),
        ([failed(0, -15, 1.0), failed(1, 1, 2.0, "ValueError: x")], 1),
        ([failed(0, 1, 1.0, PEER), failed(1, -9, 1.5)], 1),
        ([failed(0, 1, 3.0, "A: x"), failed(1, 1, 2.0, "B: y")], 1),
        ([failed(0, -15, 1.0), failed(1, 1, 2.0, PEER)], 1),
        ([failed(5, 1, 2.0, "A: x"), failed(4, 1, 2.0, "A: x")], 4),
    ],
)
def test_the_cause_is_the_earliest_that_is_no_echo(failures, rank):
    first = first_failure(failures)
    assert (None if first is None else first.rank) == rank


def test_the_cause_among_nodes():
    nodes = {
        "n1": failed(0, 1, 1.0, PEER).as_dict(),
        "n2": failed(2, -9, 2.0).as_dict(),
        "n3": failed(4, -9, 3.0).as_dict(),
        "n4": None,
    }
    host, failure = first_failure_of(nodes)
    assert (host, failure["rank"]) == ("n2", 2)
    assert first_failure_of({"n4": None}) is None


def test_what_the_operator_is_told():
    sentence = failure_sentence("n2", failed(3, 1, 2.0, "Traceback\nValueError: bad\n").as_dict())
    assert sentence == (
        "rank 3 on n2 failed first: ValueError: bad\n    Traceback\n    ValueError: bad\nThe whole log is /log/3 on n2."
    )


def test_an_agent_that_failed_without_a_rank():
    failure = agent_failure(1, 5.0, "torchrun: error: unrecognized arguments: --x\n", "/agent.log")
    assert failure.message == "torchrun: error: unrecognized arguments: --x"
    assert failure_sentence("n1", failure.as_dict()).startswith("the agent on n1 failed first: torchrun: error")
    waiting = agent_failure(1, 5.0, "DistNetworkError: The client socket has timed out after 600s\n", "/agent.log")
    assert waiting.echo == 1


def test_a_node_that_went_down():
    assert failure_sentence("n1", lost_node(5.0, "/agent.log").as_dict()).startswith(
        "the agent on n1 failed first: the node went down while the job ran"
    )


RAISED = "loss 3\nTraceback (most recent call last):\n  File x\n    y\nmodule.OddError: odd\n"


@pytest.mark.parametrize(
    ("stderr", "exception"),
    [
        (RAISED, "module.OddError: odd"),
        (RAISED.replace("Trace", "[rank1]: Trace").replace("module.", "[rank1]: module."), "module.OddError: odd"),
        (f"{RAISED}{ABORTED}\n", "module.OddError: odd"),
        # One that was caught and logged, and then the training went on.
        (f"{RAISED}loss 2\n", ""),
        ("loss 2\nSomeError: 1\n", ""),
        (f"{RAISED}\nTraceback (most recent call last):\n  File x\n", ""),
        ("", ""),
    ],
)
def test_an_exception_that_ends_a_rank_is_the_last_that_it_says(stderr, exception):
    found = uncaught(log_lines(stderr), None)
    assert (found.chain[-1].type + ": " + found.chain[-1].message if found else "") == exception


def test_a_rank_that_raised_is_a_cause_though_its_agent_ended_it():
    late = rank_failure(AgentEntry(1, 1, -15, 2.0, wrote_error=False), None, RAISED, "/log")
    assert (late.echo, late.exception, late.message) == (0, "OddError", "odd; then killed by SIGTERM")
    reported = rank_failure(AgentEntry(0, 0, -15, 1.0, wrote_error=False), None, "loss 3\n", "/log")
    assert (reported.echo, reported.message) == (2, "killed by SIGTERM")
    assert first_failure([reported, late]) is late
