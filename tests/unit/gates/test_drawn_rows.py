# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Each row of a matrix has its turn, and the same number draws the same rows."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.gates.seed import BEGINNINGS, drawn
from tests.long_rows import IN_TURN, SEED, TURNS, pytest_collection_modifyitems, rows_of


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
    first = drawn(None, last, tmp_path)
    assert 0 <= first < BEGINNINGS
    assert drawn(7, last) == drawn(7, last) == 7
    assert drawn(None, last) == first + 1
    last.write_text("what somebody else wrote")
    assert 0 <= drawn(None, last, tmp_path) < BEGINNINGS


def test_new_clones_count_on_from_landing_to_landing_and_a_shallow_one_draws(tmp_path: Path) -> None:
    branch = tmp_path / "branch"
    commands = ["init -q -b main", *["-c user.name=n -c user.email=e commit -q --allow-empty -m it"] * 3]
    branch.mkdir()
    for command in commands:
        subprocess.run(["git", *command.split()], cwd=branch, check=True)
    for number, name in enumerate(("first", "second")):
        subprocess.run(["git", "clone", "-q", branch, tmp_path / name], check=True)
        assert drawn(None, tmp_path / name / "last", tmp_path / name) == 3 + number
        subprocess.run(["git", *commands[1].split()], cwd=branch, check=True)
    subprocess.run(["git", "clone", "-q", "--depth", "1", branch.as_uri(), tmp_path / "shallow"], check=True)
    drawn_there = {drawn(None, tmp_path / f"last{number}", tmp_path / "shallow") for number in range(5)}
    assert len(drawn_there) > 1


@dataclass
class Collected:
    """What pytest has collected, as far as its hook is asked about it; of a name with a mark, by a word or alone."""

    nodeid: str
    word: str | None = None
    marks: list[str] = field(default_factory=list)

    def iter_markers(self, name: str) -> Iterator[SimpleNamespace]:
        if name == IN_TURN and self.word is not None:
            yield SimpleNamespace(args=(self.word,) if self.word else ())

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks.append(mark.name)


def played(seed: int | None, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The tests that a run with this seed plays, of two files."""
    if seed is None:
        monkeypatch.delenv(SEED, raising=False)
    else:
        monkeypatch.setenv(SEED, str(seed))
    items = [
        Collected("a.py::alone", ""),
        Collected("a.py::first", "story"),
        Collected("a.py::always"),
        Collected("a.py::second", "story"),
        Collected("b.py::row[1]", ""),
        Collected("b.py::row[2]", ""),
        Collected("b.py::other", "story"),
    ]
    pytest_collection_modifyitems(items)  # type: ignore[arg-type]
    assert {mark for item in items for mark in item.marks} <= {"long"}
    return {item.nodeid for item in items if not item.marks}


def test_what_is_in_turn_is_played_once_in_so_many_runs_and_what_builds_on_it_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = [played(seed, monkeypatch) for seed in range(40, 40 + TURNS)]
    story = {"a.py::first", "a.py::second"}
    assert all("a.py::always" in run and len(story & run) in (0, 2) for run in runs), runs
    drawn = sorted(test for run in runs for test in run - {"a.py::always"})
    assert drawn == ["a.py::alone", "a.py::first", "a.py::second", "b.py::other", "b.py::row[1]", "b.py::row[2]"]
    assert max(map(len, runs)) <= 5
    assert played(None, monkeypatch) == {"a.py::always"}
