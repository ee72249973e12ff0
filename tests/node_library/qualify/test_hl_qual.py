# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What hl_qual says and what it comes to: its words in either case, and what it lacks itself."""

from __future__ import annotations

import pytest

from gaudi3_scale.qualify.hl_qual import judge

# The shape of a report by intel/gaudi-reference-cloud's reader of it: a row for each card, and the verdict below
# " hl qual report ".
SUMMARY = """\
Test result summary
0000:19:00.0 : functional2 : {card}
===== hl qual report =====
{all}
"""


@pytest.mark.parametrize(
    ("said", "code", "state"),
    [
        ("hl_qual: all\nPASSED", 0, "passed"),
        # The closing report of 1.23.0's manual for HL-288E.
        ("Closing report\nPassed", 0, "passed"),
        ("Final verdict: Passed.", 0, "passed"),
        ("verdict: passed", 0, "passed"),
        (SUMMARY.format(card="PASSED", all="PASSED"), 0, "passed"),
        ("\x1b[32mPASSED\x1b[0m", 0, "passed"),
        ("failed to set the cpu governor\nPASSED", 0, "passed"),
        ("8 passed, 0 failed\nPASSED", 0, "passed"),
        ("FAILED: 0\nFAILED tests: 0\nPASSED", 0, "passed"),
        ("link training failed, once more\nPassed", 0, "passed"),
        (SUMMARY.format(card="FAILED", all="FAILED"), 1, "failed"),
        (SUMMARY.format(card="Failed", all="Failed"), 1, "failed"),
        ("\x1b[31mFailed\x1b[0m", 0, "failed"),
        ("7 passed, 1 failed", 1, "failed"),
        ("10 FAILED", 1, "failed"),
        ("Device 0000:19:00.0 bandwidth 80 GB/s : FAILED\nPASSED", 0, "failed"),
        # Nothing of these is a measurement.
        ("", 0, "unknown"),
        ("", -11, "unknown"),
        ("PASSED", 3, "unknown"),
        (
            "./runner: error while loading shared libraries: libhlml.so: cannot open shared object file\nFAILED",
            1,
            "unknown",
        ),
        ("ModuleNotFoundError: No module named 'numpy'\nTest FAILED", 1, "unknown"),
        ("sh: 1: /scripts/pci.py: not found\nFAILED", 1, "unknown"),
        ("sh: line 1: python3.8: command not found\nFAILED", 1, "unknown"),
        ("hl_qual: unknown option -sramOnly\nFAILED", 1, "unknown"),
        ("hl_qual: no gaudi2 device found; is the driver loaded?", 1, "unknown"),
        ("__python_cmd is not set\nFAILED", 1, "unknown"),
        ("the driver parameter timeout_locked should be 0\nFAILED", 1, "unknown"),
        ("Device already acquired by another process\nFAILED", 1, "unknown"),
    ],
)
def test_only_a_verdict_passes_or_fails(said: str, code: int, state: str) -> None:
    found, reasons = judge(said, code)
    assert found == state
    assert bool(reasons) == (state != "passed")


def test_what_it_lacks_is_named() -> None:
    _state, reasons = judge("ModuleNotFoundError: No module named 'numpy'\nFAILED", 1)
    said = (
        "hl_qual lacks something on this node, so it says nothing about the cards: ModuleNotFoundError: No module named"
    )
    assert reasons == (f"{said} 'numpy'.",)


def test_a_failure_is_told_in_its_own_words() -> None:
    assert judge("EDP test: error\n0000:19:00.0: Failed: power 910 W\nFailed", 1) == (
        "failed",
        ("0000:19:00.0: Failed: power 910 W.",),
    )
