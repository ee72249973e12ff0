# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The one log that NVRx reads, and what counts as a right answer from it; the agent itself runs in the benchmark."""

from __future__ import annotations

import pytest

from benchmarks.first_errors_nvrx import Line, is_right, lines_of
from tests.scripted_failures.cases import CASES

BY_NAME = {case.name: case for case in CASES}
KILLED = BY_NAME["killed"]


def test_each_ranks_lines_have_its_number_and_come_when_it_died():
    lines = lines_of(KILLED)
    assert [line.time for line in lines] == sorted(line.time for line in lines)
    assert {line.rank for line in lines} == {-1, 0, 1, 3}
    assert Line(0.0, 3, "a: b").as_written(2) == " 3: a: b"
    assert Line(0.0, -1, "W1201 a").as_written(2) == "W1201 a"


@pytest.mark.parametrize(
    ("line", "right"),
    [
        (None, (False, False)),
        (Line(0.2, 3, "RuntimeError: Connection closed by peer"), (False, False)),
        (Line(0.2, 2, "step 12"), (True, False)),
        (Line(0.2, -1, "failed (exitcode: -9) local_rank: 0 (pid: 4712) of binary"), (True, True)),
        (Line(0.2, -1, "failed (exitcode: 1) local_rank: 1 (pid: 4713) of binary"), (False, False)),
    ],
)
def test_a_line_is_right_by_the_rank_that_said_it_or_that_its_launcher_names(line, right):
    assert is_right(KILLED, line) == right
