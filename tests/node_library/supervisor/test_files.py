# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from gaudi3_scale.core._cards.health import unfit_reason
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._job.rank_logs import torchrun_failures
from gaudi3_scale.core._job.supervision import launch_of
from gaudi3_scale.core._node.commands import CommandResult, run_process
from gaudi3_scale.core._node.process_tree import catches
from gaudi3_scale.supervisor.files import Status, append_event, incarnation_after, read_supervision, write_status
from gaudi3_scale.supervisor.generation import RUN, Generation
from gaudi3_scale.supervisor.health import HealthCheck
from gaudi3_scale.supervisor.node import argv_of
from gaudi3_scale.supervisor.progress import clear_progress, read_progress
from gaudi3_scale.supervisor.stacks import write_stacks
from gaudi3_scale.supervisor.state import Event

KEY = bytes(range(32))
GIVEN = {
    "job": "demo",
    "host": "b",
    "hosts": ["a", "b"],
    "spares": ["c"],
    "addresses": {"a": "192.0.2.1", "b": "192.0.2.2", "c": "192.0.2.3"},
    "control_port": 29501,
    "key": KEY.hex(),
    "argv": ["torchrun", "--nnodes", "@NNODES@", "--node-rank", "@NODE_RANK@", "@MASTER_ADDRESS@", "x@NNODES@"],
    "processes_per_node": 8,
    "rendezvous_port": 29500,
    "device": "cpu",
    "progress_directory": "/p",
    "status": "/s",
    "votes": "/w",
    "events": "/e",
    "log_directory": "/l",
    "agent_log": "/a/agent.log",
    "ranks_directory": "/r",
    "stop_requested": "/q",
    "venv": "/v",
}


def written(tmp_path, **values):
    path = tmp_path / "supervision.json"
    path.write_text(json.dumps({key: value for key, value in {**GIVEN, **values}.items() if value != "left out"}))
    return str(path)


def test_what_is_left_out_has_its_default(tmp_path):
    given = read_supervision(written(tmp_path, spares=None, hang_timeout=None))
    rules = given.rules
    assert (rules.names, rules.hosts, rules.index, rules.min_nodes) == (("a", "b"), 2, 1, 2)
    assert (rules.max_restarts, rules.lost_after, rules.join_timeout, rules.hang_timeout) == (3, 10.0, 600.0, 0.0)
    assert (given.key, given.kernel_root) == (KEY, "/")
    reported = read_supervision(written(tmp_path, max_restarts=0, lost_after=20, min_nodes=1, stop_grace=90)).rules
    assert (reported.max_restarts, reported.lost_after, reported.min_nodes, reported.stop_grace) == (0, 20.0, 1, 90.0)
    assert (rules.min_runtime, rules.reports_steps) == (60.0, False)
    reported = read_supervision(written(tmp_path, min_runtime=0, reports_steps=True)).rules
    assert (reported.min_runtime, reported.reports_steps) == (0.0, True)


@pytest.mark.parametrize(
    "values",
    [{"hosts": "left out"}, {"key": "no hex"}, {"host": "z"}, {"argv": "torchrun"}, {"addresses": []}],
)
def test_a_file_that_describes_no_job_is_refused_in_a_sentence(tmp_path, values):
    with pytest.raises(GaudiError, match=r"does not describe a job .*; launch the job again"):
        read_supervision(written(tmp_path, **values))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(GaudiError, match=r"none\.json cannot be read: No such file"):
        read_supervision(str(tmp_path / "none.json"))


def test_torchrun_is_told_what_the_generation_decided(tmp_path):
    given = read_supervision(written(tmp_path))
    # b is the first one after a was lost, c has a's place in another.
    assert argv_of(given, Generation(2, RUN, (None, (1, 5))))[2:] == ["1", "--node-rank", "0", "192.0.2.2", "x@NNODES@"]
    assert argv_of(given, Generation(2, RUN, ((2, 9), (1, 5))))[2:] == [
        "2",
        "--node-rank",
        "1",
        "192.0.2.3",
        "x@NNODES@",
    ]


def test_a_later_supervisor_has_a_higher_number(tmp_path):
    path = str(tmp_path / "status.json")
    first = incarnation_after(0, path)
    assert abs(first / 1000 - time.time()) < 60
    future = first + 10**9
    # A clock that was set back does not make the new one older, whichever of both files is left.
    assert incarnation_after(future, path) == future + 1
    status = Status(launch_of(KEY), future, "running", 1, ("a",), 0, "a", 0, ("a",), 3, None, "", None)
    write_status(path, status)
    assert incarnation_after(0, path) == future + 1
    (tmp_path / "status.json").write_text("x")
    assert incarnation_after(0, path) < future


def test_the_witness_comes_last_and_votes(tmp_path):
    rules = read_supervision(written(tmp_path, witness="w")).rules
    assert (rules.names, rules.witness, list(rules.ranked)) == (("a", "b", "c", "w"), 3, [0, 1, 2])
    assert read_supervision(written(tmp_path)).rules.witness is None


def test_the_status_is_replaced_and_events_are_added(tmp_path):
    status = Status("l", 1, "running", 1, ("a",), 0, "a", 0, ("a",), 3, None, "", None)
    write_status(str(tmp_path / "s"), status)
    write_status(str(tmp_path / "s"), replace(status, step=4))
    reported = json.loads((tmp_path / "s").read_text())
    assert (reported["step"], reported["members"]) == (4, ["a"]) and abs(reported["time"] - time.time()) < 60
    for kind in ("run", "ended"):
        append_event(str(tmp_path / "e"), Event(kind, 1, None, "text"))
    assert [json.loads(line)["kind"] for line in (tmp_path / "e").read_text().splitlines()] == ["run", "ended"]


def test_a_file_that_is_not_there_is_named():
    argv = [sys.executable, "-I", "-m", "gaudi3_scale.supervisor", "/no/such"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "/no/such cannot be read: No such file or directory; launch the job again.\n",
    )


def test_progress_of_each_rank(tmp_path):
    (tmp_path / "0.json").write_text('{"step": 12, "busy_seconds": 0.5}')
    (tmp_path / "1.json").write_text('{"step": 11, "busy_seconds": null')
    (tmp_path / "2.json").write_text('{"step": "x"}')
    progress = read_progress(str(tmp_path), 4)
    assert (progress.steps, progress.busy) == ((12, None, None, None), (0.5, None, None, None))
    clear_progress(str(tmp_path))
    assert read_progress(str(tmp_path), 1).steps == (None,)


def test_a_node_without_cards_is_fit_for_the_cpu_alone(tmp_path):
    def no_program(argv, **_options):
        return CommandResult(127, "", "")

    assert unfit_reason("cpu", 8, no_program, str(tmp_path)) == ""
    assert unfit_reason("hpu", 8, no_program, str(tmp_path)).startswith("its cards are not all healthy: cards: found 0")


def test_a_look_that_fails_is_no_health():
    def broken():
        raise OSError("no such tool")

    check = HealthCheck(broken, 0.0)
    end = time.monotonic() + 30
    while check.reason is None and time.monotonic() < end:
        time.sleep(0.01)
    assert check.reason == "its cards cannot be checked: no such tool"


RANK = """import faulthandler, signal, time
{}
def where():
    print("ready", flush=True)
    time.sleep(99)
where()
"""


def no_py_spy(_argv, **_options):
    """It is there, but may not look into another account's processes."""
    return CommandResult(1, "", "Permission denied")


@pytest.mark.parametrize(
    ("line", "expected"),
    [("faulthandler.register(signal.SIGUSR1)", "in where"), ("pass", "No stack: py-spy is not there or may not look")],
)
def test_stacks_come_from_ranks_that_write_them(tmp_path, line, expected):
    stderr = tmp_path / "stderr.log"
    with stderr.open("wb") as stream:
        rank = subprocess.Popen([sys.executable, "-c", RANK.format(line)], stdout=subprocess.PIPE, stderr=stream)
    try:
        rank.stdout.readline()
        assert catches(rank.pid, signal.SIGUSR1) is (expected == "in where")
        write_stacks(str(tmp_path / "stacks"), {1: rank.pid}, 8, {1: str(stderr)}, str(tmp_path), no_py_spy)
        assert expected in (tmp_path / "stacks/rank-9.txt").read_text()
        # Who does not catch the signal is not sent it.
        assert rank.poll() is None
    finally:
        rank.kill()
        rank.wait()


def test_py_spy_of_the_venv_comes_first(tmp_path):
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/py-spy"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    write_stacks(str(tmp_path / "stacks"), {0: os.getpid()}, 0, {}, str(tmp_path), run_process)
    assert (tmp_path / "stacks/rank-0.txt").read_text() == f"dump --pid {os.getpid()}\n"


def test_an_agent_that_was_ended_before_its_table_names_its_rank(tmp_path):
    (tmp_path / "1").mkdir()
    (tmp_path / "1/stderr.log").write_text("Traceback\nValueError: bad\n")
    log = "E1121 09:12:46.979000 1 torch/x.py:1002] failed (exitcode: 1) local_rank: 1 (pid: 5) of binary: x\n"
    (failure,) = torchrun_failures(log, str(tmp_path), 8)
    assert (failure.rank, failure.local_rank, failure.exception, failure.message) == (9, 1, "ValueError", "bad")
    assert failure.path == str(tmp_path / "1/stderr.log")
