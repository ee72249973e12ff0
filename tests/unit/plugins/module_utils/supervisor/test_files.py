# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils.errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils.job.rank_logs import torchrun_failures
from ansible_collections.gaudi3.scale.plugins.module_utils.node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.plugins.module_utils.node.process_tree import catches
from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.archive import build, needed
from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.files import (
    Status,
    append_event,
    incarnation_of,
    read_supervision,
    write_status,
)
from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.generation import RUN, Generation
from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.health import HealthCheck, unfit_reason
from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.messages import launch_of
from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.node import argv_of
from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.progress import clear_progress, read_progress
from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.stacks import write_stacks
from ansible_collections.gaudi3.scale.plugins.module_utils.supervisor.state import Event

from tests.unit.supervised import CORE, read_source

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
    "events": "/e",
    "log_directory": "/l",
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
    assert (rules.max_restarts, rules.lost_after, rules.join_timeout, rules.hang_timeout) == (3, 15.0, 600.0, 0.0)
    assert (given.key, given.kernel_root) == (KEY, "/")
    told = read_supervision(written(tmp_path, max_restarts=0, lost_after=20, min_nodes=1, stop_grace=90)).rules
    assert (told.max_restarts, told.lost_after, told.min_nodes, told.stop_grace) == (0, 20.0, 1, 90.0)
    assert (rules.min_runtime, rules.reports_steps) == (60.0, False)
    told = read_supervision(written(tmp_path, min_runtime=0, reports_steps=True)).rules
    assert (told.min_runtime, told.reports_steps) == (0.0, True)


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


def test_a_later_supervisor_of_the_same_launch_knows_that_it_is_one(tmp_path):
    path = str(tmp_path / "status.json")
    first, votes = incarnation_of(path, KEY)
    assert votes
    future = first + 10**9
    status = Status(launch_of(KEY), future, "running", 1, ("a",), 0, "a", 0, ("a",), 3, None, "", None)
    write_status(path, status)
    # A clock that was set back does not make the new one older.
    assert incarnation_of(path, KEY) == (future + 1, False)
    again, votes = incarnation_of(path, bytes(32))
    assert votes and again < future


def test_the_status_is_replaced_and_events_are_added(tmp_path):
    status = Status("l", 1, "running", 1, ("a",), 0, "a", 0, ("a",), 3, None, "", None)
    write_status(str(tmp_path / "s"), status)
    write_status(str(tmp_path / "s"), replace(status, step=4))
    told = json.loads((tmp_path / "s").read_text())
    assert (told["step"], told["members"]) == (4, ["a"]) and abs(told["time"] - time.time()) < 60
    for kind in ("run", "ended"):
        append_event(str(tmp_path / "e"), Event(kind, 1, None, "text"))
    assert [json.loads(line)["kind"] for line in (tmp_path / "e").read_text().splitlines()] == ["run", "ended"]


def test_the_archive_is_the_same_each_time_and_has_all_that_it_imports():
    archive = build(read_source)
    assert archive == build(read_source)
    names = zipfile.ZipFile(io.BytesIO(archive)).namelist()
    modules = {name.partition("/")[2].removesuffix(".py") for name in names}
    assert {"supervisor/loop", "job/failure", "cards/hpu_facts", "errors", "cards/__init__"} <= modules
    supervisors = {f"supervisor/{path.stem}" for path in CORE.glob("supervisor/*.py")} - {"supervisor/archive"}
    assert supervisors <= modules, "a module of the supervisor that it does not use"
    assert "launch/control" not in modules


def test_the_archive_runs_by_itself(tmp_path):
    path = tmp_path / "supervisor.pyz"
    path.write_bytes(build(read_source))
    done = subprocess.run([sys.executable, "-I", str(path), "/no/such"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "/no/such cannot be read: No such file or directory; launch the job again.\n",
    )


def test_imports_are_followed_wherever_they_are():
    sources = {
        "supervisor/loop": "from .a import x\ndef f():\n    from ..job.b import y\nimport os\nfrom json import z\n",
        "supervisor/a": "from ..job.b import y\n",
        "job/b": "from ..supervisor.a import x\nfrom ..errors import E\n",
        "errors": "from .job.b import z\n",
    }
    assert sorted(needed(sources.__getitem__)) == ["errors", "job/b", "supervisor/a", "supervisor/loop"]


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
    end = time.monotonic() + 5
    while check.reason is None and time.monotonic() < end:
        time.sleep(0.01)
    assert check.reason == "its cards cannot be looked at: no such tool"


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
