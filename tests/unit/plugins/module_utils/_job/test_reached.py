# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How far a node's ranks are, by what they have written: those that write nothing, some, nonsense, or late."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.reached import NAME, Reached, read_reached


def told(ranks: Path, local: int, *stages: tuple[str, object], run: str = "none_x1") -> Path:
    file = ranks / run / "attempt_0" / str(local) / NAME
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps({"stage": stage, "time": time}) + "\n" for stage, time in stages))
    return file


def test_ranks_that_load_their_libraries_have_reached_nothing(tmp_path: Path) -> None:
    assert read_reached(str(tmp_path), 2) == Reached()
    (tmp_path / "none_x1/attempt_0/0").mkdir(parents=True)
    assert read_reached(str(tmp_path), 2) == Reached(0, 0, 0, None)


def test_they_run_once_the_last_of_them_does(tmp_path: Path) -> None:
    told(tmp_path, 0, ("started", 10.0), ("met", 12.0), ("measuring", 12.5))
    told(tmp_path, 1, ("started", 11.0))
    assert read_reached(str(tmp_path), 2) == Reached(started=2, met=1, measuring=1, since=None)
    told(tmp_path, 1, ("started", 11.0), ("met", 14.0))
    assert read_reached(str(tmp_path), 2) == Reached(started=2, met=2, measuring=1, since=14.0)


def test_who_measures_its_own_card_before_it_meets_others_runs(tmp_path: Path) -> None:
    told(tmp_path, 0, ("started", 10.0), ("measuring", 10.5))
    assert read_reached(str(tmp_path), 1).since == 10.5


@pytest.mark.parametrize("processes", [0, -1, None, "2", 10**9])
def test_a_description_that_says_no_number_of_ranks_says_nothing(processes: object, tmp_path: Path) -> None:
    told(tmp_path, 0, ("started", 10.0), ("met", 11.0))
    assert read_reached(str(tmp_path), processes) == Reached()


def test_what_the_account_writes_instead_is_no_stage(tmp_path: Path) -> None:
    file = told(tmp_path, 0, ("met", "soon"), ("measured", 1.0), ("started", True))
    file.write_text(file.read_text() + "[]\n{\n\x00\n" + '{"stage": ["met"], "time": 1}\n')
    assert read_reached(str(tmp_path), 1) == Reached()
    file.unlink()
    file.symlink_to("/etc/passwd")
    assert read_reached(str(tmp_path), 1) == Reached()
