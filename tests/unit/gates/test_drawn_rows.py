# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Each row of a matrix has its turn, and the same number draws the same rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gates.seed import BEGINNINGS, drawn
from tests.long_rows import SEED, rows_of


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
