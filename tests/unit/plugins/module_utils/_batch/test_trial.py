# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.search import Trial
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.trial import Workload, judge, request, run_trial

RAN = json.dumps({"outcome": "ok", "peak_memory_bytes": 5, "step_seconds": 0.25, "message": ""})


@pytest.mark.parametrize(
    ("returncode", "result", "log", "outcome", "said"),
    [
        (0, RAN, "", "ok", ""),
        (0, '{"outcome": "out_of_memory", "message": "RuntimeError: too much"}', "", "out_of_memory", "too much"),
        (0, '{"outcome": "workload_error", "message": "no module x"}', "", "workload_error", "no module x"),
        # A result counts even where the process died after it had written it.
        (-signal.SIGSEGV, RAN, "at exit", "ok", ""),
        (-signal.SIGABRT, None, "what():  std::bad_alloc\n", "out_of_memory", "std::bad_alloc"),
        (1, None, "FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::1", "out_of_memory", "PT_DEVMEM"),
        (1, None, "MODULE:PT_SYNHELPER workspace Allocation of size ::9 failed!", "out_of_memory", "PT_SYNHELPER"),
        (
            -signal.SIGKILL,
            None,
            "",
            "crash",
            "signal SIGKILL, which the kernel sends when the node is out of memory",
        ),
        (-signal.SIGSEGV, None, "first\n\nlast\n", "crash", "signal SIGSEGV. Last output: first\nlast"),
        (3, None, "", "crash", "exit status 3. Last output: none"),
        (0, "{broken", "x", "crash", "exit status 0. Last output: x"),
        (0, '{"outcome": "splendid"}', "x", "crash", "exit status 0"),
        (
            1,
            None,
            "python: No module named gaudi3_scale.batch.trial",
            "workload_error",
            "the node library is not in this venv",
        ),
        (None, None, "step 1\n", "hang", "timed out after 30 s. Last output: step 1"),
        (None, RAN, "", "hang", "timed out after 30 s"),
    ],
)
def test_how_a_trial_ended(returncode, result, log, outcome, said):
    trial = judge(8, returncode, 30, result, log)
    assert (trial.batch_size, trial.outcome) == (8, outcome)
    assert said in trial.message


def test_what_a_child_measured_is_taken_over():
    result = {
        "outcome": "ok",
        "peak_memory_bytes": 9,
        "resting_memory_bytes": 4,
        "peak_spread_bytes": 1,
        "limit_bytes": 20,
        "used_by_others_bytes": 3,
        "seconds_of_steps": [0.5, 0.4],
        "losses": [2.0, 1.0],
        "warm_up_seconds": 7.5,
        "held_memory_bytes": 12,
    }
    expected = Trial(8, "ok", 9, None, "", 4, 1, 20, 3, (0.5, 0.4), (2.0, 1.0), 7.5, 12)
    assert judge(8, 0, 30, json.dumps(result), "") == expected


def test_only_the_last_lines_are_told():
    message = judge(1, 1, 30, None, "\n".join(f"line {number}" for number in range(100))).message
    assert message.splitlines()[0].endswith("line 85")
    assert message.splitlines()[-1] == "line 99"


def test_the_request_is_what_the_node_library_documents():
    workload = Workload("m:f", {"width": 2}, steps=4, device="cpu", memory_limit=99)
    assert request(workload, 8, "/r") == {
        "workload": "m:f",
        "options": {"width": 2},
        "batch_size": 8,
        "steps": 4,
        "warm_up": 1,
        "device": "cpu",
        "memory_limit": 99,
        "result": "/r",
    }


@pytest.fixture
def trial_of(tmp_path):
    """Runs one trial whose child is the given program in the place of ``gaudi3_scale.batch.trial``."""
    package = tmp_path / "gaudi3_scale" / "batch"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").touch()
    preamble = "import json, os, sys, subprocess, time\nrequest = json.loads(sys.argv[1])\n"

    def run(program, timeout=20.0, options=None, memory_limit=None):
        (package / "trial.py").write_text(preamble + program, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "FLAG": "of the file"}
        workload = Workload("m:f", options or {}, device="cpu", memory_limit=memory_limit)
        return run_trial(workload, 8, python=sys.executable, timeout=timeout, environment=environment)

    return run


def test_a_child_reports_through_its_file(trial_of):
    program = """
result = {"outcome": "ok", "peak_memory_bytes": request["batch_size"], "step_seconds": 0.5}
result["message"] = os.environ["FLAG"]
open(request["result"], "w").write(json.dumps(result))
"""
    assert trial_of(program) == Trial(8, "ok", 8, 0.5, "of the file")


def test_a_child_that_kills_itself_is_a_crash_with_its_last_words(trial_of):
    trial = trial_of("sys.stderr.write('last words'); sys.stderr.flush(); os.kill(os.getpid(), 11)")
    assert trial.outcome == "crash"
    assert trial.message == "signal SIGSEGV. Last output: last words"


def test_past_its_time_a_child_and_what_it_started_are_gone(trial_of, tmp_path):
    pid_file = tmp_path / "pid"
    program = """
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open(request["options"]["pid_file"], "w").write(str(child.pid))
time.sleep(60)
"""
    started = time.monotonic()
    trial = trial_of(program, timeout=3, options={"pid_file": str(pid_file)})
    assert trial.outcome == "hang"
    assert time.monotonic() - started < 20
    assert_gone(int(pid_file.read_text()))


def test_what_a_finished_child_leaves_running_is_ended(trial_of, tmp_path):
    pid_file = tmp_path / "pid"
    program = f"""
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open(request["options"]["pid_file"], "w").write(str(child.pid))
open(request["result"], "w").write({RAN!r})
"""
    assert trial_of(program, options={"pid_file": str(pid_file)}).outcome == "ok"
    assert_gone(int(pid_file.read_text()))


@pytest.mark.parametrize(
    ("failure", "runs_without", "outcome", "said"),
    [
        (
            "os.kill(os.getpid(), 11)",
            True,
            "out_of_memory",
            "runs only without the memory limit; with it: signal SIGSEGV",
        ),
        ("report('workload_error', 'no primitive')", True, "out_of_memory", "with it: no primitive"),
        ("os.kill(os.getpid(), 11)", False, "crash", "signal SIGSEGV"),
        ("report('workload_error', 'cannot be imported')", False, "workload_error", "cannot be imported"),
        ("report('out_of_memory', 'told')", True, "out_of_memory", "told"),
    ],
)
def test_what_fails_under_a_memory_limit_is_tried_without_it(trial_of, failure, runs_without, outcome, said):
    program = f"""
def report(outcome, message=""):
    open(request["result"], "w").write(json.dumps({{"outcome": outcome, "message": message}}))
if request["memory_limit"] or not {runs_without}:
    {failure}
else:
    report("ok")
"""
    trial = trial_of(program, memory_limit=1 << 30)
    assert trial.outcome == outcome
    assert trial.message.startswith(said) or said in trial.message.splitlines()[0]


def test_a_child_ends_itself_when_nobody_watches_it_any_more(trial_of):
    program = """
import signal
open(request["result"], "w").write(json.dumps({"outcome": "ok", "step_seconds": signal.alarm(0)}))
"""
    assert trial_of(program, timeout=20).step_seconds == pytest.approx(25, abs=3)


def assert_gone(pid):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        time.sleep(0.05)
    pytest.fail(f"process {pid} still runs")
