# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Each row of a matrix has its turn, and the same number draws the same rows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gates.runner import ROOT
from tests.gates.seed import BEGINNINGS, drawn
from tests.long_rows import SEED, TURNS, rows_of

# As a scenario's file, with as many turns as there are, one of them of two tests.
IN_TURN = """
import pytest
@pytest.mark.in_turn
def test_alone(): pass
@pytest.mark.in_turn("one story")
def test_first(): pass
def test_always(): pass
@pytest.mark.in_turn("one story")
def test_second(): pass
@pytest.mark.in_turn
@pytest.mark.parametrize("row", [1, 2])
def test_rows(row): pass
"""


@pytest.mark.parametrize("nth", [1, 2, 5, 7, 20])
def test_over_twenty_runs_each_row_is_played(nth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = []
    for _run in range(20):
        monkeypatch.setenv(SEED, str(drawn(None, tmp_path / "last")))
        played.append(list(rows_of(range(103), nth)))
    assert {row for rows in played for row in rows} == set(range(103))
    assert all(103 // nth <= len(rows) <= 103 // nth + 1 for rows in played)


def test_a_number_that_is_given_draws_the_same_rows_and_is_not_counted(tmp_path: Path) -> None:
    last = tmp_path / "last"
    first = drawn(None, last)
    assert 0 <= first < BEGINNINGS
    assert drawn(7, last) == drawn(7, last) == 7
    assert drawn(None, last) == first + 1
    last.write_text("what somebody else wrote")
    assert 0 <= drawn(None, last) < BEGINNINGS


def collected(directory: Path, seed: int | None, marks: str = "not long") -> list[str]:
    """The tests of :data:`IN_TURN` that a run with this seed plays."""
    (directory / "conftest.py").write_text("from tests.long_rows import pytest_collection_modifyitems")
    (directory / "test_turns.py").write_text(IN_TURN)
    around = {name: value for name, value in os.environ.items() if name not in (SEED, "PYTEST_ADDOPTS")}
    given = {} if seed is None else {SEED: str(seed)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "-m", marks, "--rootdir", directory, directory],
        cwd=directory,
        env={**around, **given, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return re.findall(r"::(\S+)", done.stdout)


def test_what_is_in_turn_is_played_once_in_so_many_runs_and_what_builds_on_it_with_it(tmp_path: Path) -> None:
    runs = [collected(tmp_path, seed) for seed in range(40, 40 + TURNS)]
    story = {"test_first", "test_second"}
    assert all(("test_always" in run, len(story & {*run})) in ((True, 0), (True, 2)) for run in runs), runs
    played = sorted(test for run in runs for test in run if test != "test_always")
    assert played == ["test_alone", "test_first", "test_rows[1]", "test_rows[2]", "test_second"]
    assert collected(tmp_path, None) == ["test_always"]
    assert len(collected(tmp_path, None, "long or not long")) == 6
