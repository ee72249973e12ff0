# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What ``make test`` counts of a gate, from the runners' own closing lines."""

from __future__ import annotations

import pytest

from tests.gates.counting import Counts, count, reasons

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


def test_the_summary_says_why() -> None:
    output = "ok\nE         msg: No package matching 'gnupg'\n\x1b[31mERROR tests/test_bundle.py::test_a\x1b[0m\n" * 2
    assert reasons(output) == ["E msg: No package matching 'gnupg'", "ERROR tests/test_bundle.py::test_a"]


def test_a_long_log_is_cut_to_a_few_lines() -> None:
    found = reasons("".join(f"FAILED {number} {'x' * 500}\n" for number in range(50)))
    assert len(found) == 4 and max(map(len, found)) <= 150
