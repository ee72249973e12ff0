# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Gates that are interrupted, or take too long, leave no process behind and nothing of what they made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from plugins.module_utils._node.process_tree import started_with
from tests.gates import runner
from tests.gates.gate import Gate
from tests.gates.runner import run

ROOT = Path(__file__).resolve().parents[3]
# Two gates that would take long, one with a process that has left its session and its parent.
GATES = """
import sys
from pathlib import Path
from tests.gates import runner
from tests.gates.gate import Gate
from tests.gates.summary import summary

here = Path(sys.argv[1])
runner.ROOT, runner.LOGS = here, here / "logs"
left = f"setsid sleep 600 & touch {here}/made {here}/begun; sleep 600"
outcomes = runner.run([
    Gate("nodes", "", (("sh", "-c", left),), undo=("rm", str(here / "made"))),
    Gate("other", "", (("sh", "-c", f"trap '' TERM; touch {here}/stubborn; sleep 600; sleep 600"),), lane="other"),
    Gate("later", "", (("touch", str(here / "later")),)),
])
(runner.LOGS / "summary.txt").write_text(summary(outcomes, "no time", [], [], is_server=False))
sys.exit(1 if any(outcome.is_fault for outcome in outcomes) else 0)
"""


def wait_for(*paths: Path) -> None:
    deadline = time.monotonic() + 30
    while not all(path.exists() for path in paths):
        assert time.monotonic() < deadline, f"{paths} did not appear"
        time.sleep(0.05)


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(number, marks=pytest.mark.long) for number in (signal.SIGINT, signal.SIGHUP))],
)
def test_interrupted_gates_leave_nothing(tmp_path: Path, number: int) -> None:
    mine = {"GATES_TEST": str(tmp_path)}
    gates = subprocess.Popen(
        [sys.executable, "-c", GATES, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, **mine},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    wait_for(tmp_path / "begun", tmp_path / "stubborn")
    gates.send_signal(number)
    reported, _none = gates.communicate(timeout=60)
    assert gates.returncode == 1, reported
    assert started_with("GATES_TEST", str(tmp_path)) == set()
    assert not (tmp_path / "made").exists(), "what the gate made is still there"
    assert not (tmp_path / "later").exists(), "a gate began after the interruption"
    summary = (tmp_path / "logs" / "summary.txt").read_text().splitlines()
    assert [line.split()[:2] for line in summary[1:4]] == [
        ["nodes", "interrupted"],
        ["other", "interrupted"],
        ["later", "not"],
    ]
    assert summary[-1] == "0 passed, 3 failed"


def test_a_gate_at_its_limit_takes_its_processes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(runner, "LOGS", tmp_path / "logs")
    monkeypatch.setenv("GATES_TEST", str(tmp_path))
    (outcome,) = run([Gate("slow", "", (("sh", "-c", "sh -c 'sleep 600; true'; true"),), limit=0.5)])
    assert outcome.verdict == "FAILED"
    assert started_with("GATES_TEST", str(tmp_path)) == set()
    assert "Stopped: not finished after" in (tmp_path / "logs" / "slow.log").read_text()
