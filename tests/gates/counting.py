# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How many checks a gate made, read from what it printed."""

from __future__ import annotations

import re
from dataclasses import dataclass

ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
PYTEST_CLOSING = re.compile(r"^=* ?((?:\d+ \w+(?:, )?)+) in [\d.]+s.*$", re.MULTILINE)
SANITY_TEST = re.compile(r'^Running sanity test "([\w-]+)"', re.MULTILINE)
REASON = re.compile(r"^(?:FAILED|ERROR|FATAL)\b.*|^E +(?:AssertionError.*|.*\bmsg: .+)|^.*\berror: .+", re.MULTILINE)
REASON_LINES, REASON_WIDTH = 4, 150
SANITY_FAILED = re.compile(r"The (\d+) sanity test\(s\) listed below \(out of \d+\) failed")


@dataclass(frozen=True)
class Counts:
    """Checks that passed, failed and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        text = f"{self.passed} passed, {self.failed} failed"
        return f"{text}, {self.skipped} skipped" if self.skipped else text


def count(output: str, succeeded: bool) -> Counts:
    """The sum of the test runners' closing lines in ``output``; a gate without any is one check.

    A gate that did not succeed counts at least one failure, whatever its runners printed.
    """
    text = ESCAPE.sub("", output)
    found = _pytest(text) + _sanity(text)
    if not succeeded and found.failed == 0:
        return found + Counts(failed=1)
    return found if found != Counts() else Counts(passed=1)


def reasons(output: str) -> list[str]:
    """The first few lines of ``output`` that say what went wrong, each once and cut to a line's width."""
    found = dict.fromkeys(" ".join(line.split())[:REASON_WIDTH] for line in REASON.findall(ESCAPE.sub("", output)))
    return list(found)[:REASON_LINES]


def _pytest(text: str) -> Counts:
    total = Counts()
    for closing in PYTEST_CLOSING.findall(text):
        numbers = {word.rstrip("s"): int(number) for number, word in re.findall(r"(\d+) (\w+)", closing)}
        total += Counts(
            numbers.get("passed", 0),
            numbers.get("failed", 0) + numbers.get("error", 0),
            numbers.get("skipped", 0),
        )
    return total


def _sanity(text: str) -> Counts:
    ran = len(set(SANITY_TEST.findall(text)))
    failed = sum(map(int, SANITY_FAILED.findall(text)))
    return Counts(passed=max(0, ran - failed), failed=failed)
