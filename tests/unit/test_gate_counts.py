# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What ``make test`` counts of a gate, from the runners' own closing lines."""

from __future__ import annotations

import pytest

from tests.gates.counting import Counts, count

PYTEST_TWICE = """
============================== 2 passed in 5.65s ===============================
tests/test_gaudi_driver.py ................                              [100%]
\x1b[31m=== 1 failed, 15 passed, 2 skipped, 1 error in 154.51s (0:02:34) ===\x1b[0m
"""
QUIET_PYTEST = "1211 passed, 1 warning in 203.33s (0:03:23)\n"
SANITY = """
Running sanity test "compile" on Python 3.11
Running sanity test "pep8"
Running sanity test "pylint"
FATAL: The 2 sanity test(s) listed below (out of 3) failed. See error output above for details.
"""


@pytest.mark.parametrize(
    ("output", "succeeded", "counts"),
    [
        (PYTEST_TWICE, False, Counts(17, 2, 2)),
        (QUIET_PYTEST, True, Counts(1211)),
        (SANITY, False, Counts(1, 2)),
        ("All checks passed!\n", True, Counts(1)),
        ("Found 3 errors.\n", False, Counts(0, 1)),
        # A runner that was content inside a gate that was not.
        (QUIET_PYTEST, False, Counts(1211, 1)),
    ],
    ids=["pytest twice", "quiet pytest", "sanity", "a linter", "a linter that found something", "failed after pytest"],
)
def test_counts(output: str, succeeded: bool, counts: Counts) -> None:
    assert count(output, succeeded) == counts


def test_the_closing_line() -> None:
    assert str(Counts(3, 0) + Counts(1, 2)) == "4 passed, 2 failed"
    assert str(Counts(3, 0, 1)) == "3 passed, 0 failed, 1 skipped"
