# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How many checks a gate made and why some failed, by the JUnit files that its test runners have written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# What a gate prints that has no test runner: a linter, or a playbook that makes the nodes.
REASON = re.compile(r"^(?:FAILED|ERROR|FATAL)\b.*|^E +(?:AssertionError.*|.*\bmsg: .+)|^.*\berror: .+", re.MULTILINE)
# What a linter says of a place, where nothing above does.
PLACE = re.compile(r"^\S+:\d+(?::\d+)?: .+", re.MULTILINE)
REASON_LINES, REASON_WIDTH = 4, 150


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


def count(junit: Path, succeeded: bool) -> Counts:
    """The sum of the suites in the directory ``junit``; a gate without any is one check.

    A gate that did not succeed counts at least one failure, whatever its runners wrote.
    """
    found = sum((_counts(suite) for suite in _suites(junit)), Counts())
    if not succeeded and found.failed == 0:
        return found + Counts(failed=1)
    return found if found != Counts() else Counts(passed=1)


def reasons(junit: Path, output: str) -> list[str]:
    """The first few tests that failed, each with what it said; without any the lines of ``output`` that say why.

    Never nothing of an ``output``: where no line looks like a reason, it is the last ones.
    """
    plain = ESCAPE.sub("", output)
    failed = [*_failures(junit), *REASON.findall(plain)] or PLACE.findall(plain) or _last_lines(plain)
    found = dict.fromkeys(" ".join(line.split())[:REASON_WIDTH] for line in failed)
    return list(found)[:REASON_LINES]


def failed_tests(junit: Path) -> list[str]:
    """The tests that failed, each once."""
    return list(dict.fromkeys(line.partition(" - ")[0].removeprefix("FAILED ") for line in _failures(junit)))


def _last_lines(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.strip()][-REASON_LINES:]


def _suites(junit: Path) -> Iterator[ElementTree.Element]:
    for path in sorted(junit.glob("*.xml")):
        try:
            yield from ElementTree.parse(path).getroot().iter("testsuite")
        except ElementTree.ParseError:
            # A runner that was ended while it wrote; its gate has failed, and says so.
            continue


def _counts(suite: ElementTree.Element) -> Counts:
    def number(name: str) -> int:
        return int(suite.get(name) or 0)

    failed, skipped = number("failures") + number("errors"), number("skipped") + number("disabled")
    return Counts(number("tests") - failed - skipped, failed, skipped)


def _failures(junit: Path) -> Iterator[str]:
    for suite in _suites(junit):
        for case in suite.iter("testcase"):
            for kind in ("failure", "error"):
                for one in case.iter(kind):
                    said = (one.get("message") or one.text or "").strip().partition("\n")[0]
                    yield f"FAILED {case.get('classname')}::{case.get('name')} - {said}"
