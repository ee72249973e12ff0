# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Trials as they really run: a process each, with a real limit.

It is a fork, as most trials of a probe are (trial_forks.py), and a fresh one where a test asks for ``fresh``.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from forked_ranks import ends_of, start_script
from gaudi3_scale.batch.quiet import MOST_STEPS
from gaudi3_scale.batch.trial import run_trial

MIB = 1 << 20
MODEL = {"layers": 2, "width": 128, "heads": 4, "sequence_length": 128, "precision": "fp32"}
REQUEST = {
    "workload": "gaudi3_scale.workloads:causal_language_model",
    "options": {},
    "batch_size": 4,
    "steps": 3,
    "warm_up": 1,
    "device": "cpu",
    "memory_limit": None,
}


@pytest.fixture
def trial(tmp_path):
    """``trial(**request)`` runs one trial; returns its result and its exit status."""
    script = tmp_path / "one_trial.py"
    script.write_text("from gaudi3_scale.batch.trial import main\nmain()\n")

    def run(fresh: bool = False, **request: object) -> tuple[dict | None, int]:
        result = tmp_path / "result.json"
        result.unlink(missing_ok=True)
        whole = json.dumps({**REQUEST, "result": str(result), **request})
        if fresh:
            command = [sys.executable, "-m", "gaudi3_scale.batch.trial", whole]
            status = subprocess.run(command, timeout=120, check=False).returncode
        else:
            (status,) = ends_of(start_script(tmp_path, script, whole, ranks=1))
        return json.loads(result.read_text()) if result.exists() else None, status

    return run


def test_a_size_that_fits_is_measured(trial):
    small, status = trial(options=MODEL, batch_size=16, fresh=True)
    large, _ = trial(options=MODEL, batch_size=64)
    assert (small["outcome"], small["message"], status) == ("ok", "", 0)
    assert large["peak_memory_bytes"] > 1.5 * small["peak_memory_bytes"] > 0
    for one in (small, large):
        assert one["step_seconds"] == statistics.median(one["seconds_of_steps"]) > 0
    assert 3 <= len(small["losses"]) == len(small["seconds_of_steps"]) <= MOST_STEPS
    assert small["losses"][-1] < small["losses"][0] < 6
    assert small["warm_up_seconds"] > 0
    assert (small["limit_bytes"], small["used_by_others_bytes"]) == (None, None)


def test_the_limit_decides_what_fits(trial):
    limit = 150 * MIB
    failed, status = trial(options=MODEL, batch_size=128, memory_limit=limit)
    assert (failed["outcome"], status) == ("out_of_memory", 0)
    assert "allocate memory" in failed["message"]
    fits, _ = trial(options=MODEL, batch_size=8, memory_limit=limit)
    assert fits["outcome"] == "ok"
    assert fits["limit_bytes"] == pytest.approx(limit, abs=MIB)
    assert 0 < fits["resting_memory_bytes"] < fits["peak_memory_bytes"] < limit


HELD = """
import torch
def held(batch_size, device):
    kept = []
    def step():
        while len(kept) < 2:
            kept.append(torch.ones(16 << 20, dtype=torch.uint8))
        return torch.ones(batch_size << 20, dtype=torch.uint8)[0]
    return step
"""


def test_peak_and_resting_memory_are_those_that_the_limit_counts(trial, tmp_path):
    (tmp_path / "mine.py").write_text(HELD)
    whole = 32 + 40
    measured, _ = trial(workload="mine:held", batch_size=40, memory_limit=(whole + 1) * MIB)
    assert measured["outcome"] == "ok", measured["message"]
    assert measured["peak_memory_bytes"] == pytest.approx(whole * MIB, abs=MIB / 2)
    assert measured["resting_memory_bytes"] == pytest.approx(32 * MIB, abs=MIB / 2)
    assert measured["peak_spread_bytes"] < MIB / 2
    beyond, _ = trial(workload="mine:held", batch_size=43, memory_limit=(whole + 1) * MIB)
    assert beyond["outcome"] == "out_of_memory"


WRONG = """
import sys
def raises(batch_size, device): raise ValueError('the shapes\\n   do not fit')
def returns_nothing(batch_size, device): pass
def ends(batch_size, device): sys.exit(3)
def picky(size): pass
"""


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ("no_such_module:f", "workload no_such_module:f cannot be imported (ModuleNotFoundError: No module named"),
        ("gaudi3_scale.workloads:nope", "workload gaudi3_scale.workloads:nope: gaudi3_scale.workloads has no function"),
        ("wrong", "workload 'wrong' is not of the form module:function."),
        ("wrong:raises", "ValueError: the shapes do not fit"),
        ("wrong:returns_nothing", "workload wrong:returns_nothing returned NoneType; it has to return a function"),
        ("wrong:ends", "SystemExit: 3"),
        ("wrong:picky", "TypeError: picky() got an unexpected keyword argument 'batch_size'"),
    ],
)
def test_a_wrong_workload_is_told_in_one_line(tmp_path: Path, monkeypatch, workload, message):
    (tmp_path / "wrong.py").write_text(WRONG)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "wrong", raising=False)
    result = run_trial({**REQUEST, "workload": workload})
    assert result["outcome"] == "workload_error"
    assert result["message"].startswith(message)
    assert "\n" not in result["message"]


def test_a_wrong_workload_is_a_result_like_any_other(trial):
    result, status = trial(workload="no_such_module:f")
    assert (result["outcome"], status) == ("workload_error", 0)


def test_a_trial_that_dies_leaves_no_result(trial, tmp_path):
    (tmp_path / "mine.py").write_text("import os\ndef dies(batch_size, device): os.abort()\n")
    assert trial(workload="mine:dies") == (None, -6)
