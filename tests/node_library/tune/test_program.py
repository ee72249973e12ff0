# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A study of a program of the operator's own: what it lacks is said before any trial, by a real Python."""

from __future__ import annotations

import pytest

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._tune.study import study_from
from gaudi3_scale.tune.program import check_program, place_of
from studies import OPTIONS

SPACE = {"space": {"lr": {"low": 1e-5, "high": 1e-3}}, "built_in": False, "probe": None}


@pytest.fixture
def code(tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code/mine.py").write_text("import helping\nraise SystemExit('never run')\n")
    (tmp_path / "code/helping.py").write_text("import json\n")
    return tmp_path / "code"


def study(command, **changed):
    words = [*command, "--lr", "{lr}", "--steps", "{max_steps}"]
    return study_from({**OPTIONS, **SPACE, "command": words, **changed})


def test_a_module_that_only_pythonpath_finds(code, tmp_path):
    with pytest.raises(GaudiError, match=r"^gaudi_tune_command: mine cannot be imported: .* no module mine; "):
        check_program(study(["-m", "mine"]), tmp_path)
    found = study(["-m", "mine"], environment={"PYTHONPATH": str(code)})
    check_program(found, tmp_path)
    (code / "helping.py").unlink()
    with pytest.raises(GaudiError, match=r"has no module helping; .* \(gaudi_tune_environment\)\.$"):
        check_program(found, tmp_path)


def test_a_script_and_the_workload_that_bounds_it(code, tmp_path):
    check_program(study([str(code / "mine.py")]), tmp_path)
    bound = (
        {**OPTIONS["probe"], "workload": "no_such_one:step"} if OPTIONS["probe"] else {"workload": "no_such_one:step"}
    )
    with pytest.raises(GaudiError, match=r"^workload no_such_one:step: no_such_one cannot be imported: "):
        check_program(study([str(code / "mine.py")], probe=bound), tmp_path)


def test_trials_start_in_the_studys_working_directory_else_each_in_its_own(tmp_path, monkeypatch):
    (tmp_path / "job").mkdir()
    (tmp_path / "work").mkdir()
    trial = tmp_path / "trials/3"
    monkeypatch.delenv("GAUDI3_SCALE_JOB_DIR", raising=False)
    assert place_of(trial) == trial
    monkeypatch.setenv("GAUDI3_SCALE_JOB_DIR", str(tmp_path / "job"))
    monkeypatch.chdir(tmp_path / "job")
    assert place_of(trial) == trial
    monkeypatch.chdir(tmp_path / "work")
    assert place_of(trial) == tmp_path / "work"
