# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Trials as they really run: a process each, with a real limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gaudi3_scale.trial import run_trial

MIB = 1 << 20
MODEL = {"layers": 2, "width": 128, "heads": 4, "sequence_length": 128, "precision": "fp32"}
REQUEST = {
    "workload": "gaudi3_scale.workloads:causal_language_model",
    "options": {},
    "batch_size": 4,
    "steps": 3,
    "device": "cpu",
    "memory_limit": None,
}


@pytest.fixture
def trial(tmp_path):
    """``trial(**request)`` runs one trial; returns its result and its exit status."""

    def run(**request: object) -> tuple[dict | None, int]:
        result = tmp_path / "result.json"
        result.unlink(missing_ok=True)
        whole = {**REQUEST, "result": str(result), **request}
        path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
        done = subprocess.run(
            [sys.executable, "-m", "gaudi3_scale.trial", json.dumps(whole)],
            env={**os.environ, "PYTHONPATH": path},
            timeout=120,
            check=False,
        )
        return json.loads(result.read_text()) if result.exists() else None, done.returncode

    return run


def test_a_size_that_fits_is_measured(trial):
    small, status = trial(options=MODEL, batch_size=16)
    large, _ = trial(options=MODEL, batch_size=64)
    assert (small["outcome"], small["message"], status) == ("ok", "", 0)
    assert large["step_seconds"] > small["step_seconds"] > 0
    assert large["peak_memory_bytes"] > 1.5 * small["peak_memory_bytes"] > 0


def test_the_limit_decides_what_fits(trial):
    result, status = trial(options=MODEL, batch_size=256, memory_limit=300 * MIB)
    assert (result["outcome"], result["peak_memory_bytes"], status) == ("out_of_memory", None, 0)
    assert "allocate memory" in result["message"]
    fits, _ = trial(options=MODEL, batch_size=8, memory_limit=300 * MIB)
    assert fits["outcome"] == "ok"
    assert fits["peak_memory_bytes"] < 300 * MIB


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
