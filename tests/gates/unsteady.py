# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The register of tests that failed once and held at their second run: ``unsteady.json``.

A run that sees one writes it down with the day; the cause is for whoever finds it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TypedDict

from .counting import failed_tests
from .gate import Outcome
from .runner import junit_of

REGISTER = Path(__file__).with_name("unsteady.json")
UNKNOWN = "not known yet"


class Entry(TypedDict):
    """``seen``: the days, as often as it was; ``cause``: why, and what became of it."""

    test: str
    seen: list[str]
    cause: str


def noted(outcomes: Sequence[Outcome], path: Path = REGISTER) -> list[str]:
    """Write down what was unsteady in this run; returns the whole register, a line for each test."""
    today = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    seen = [
        f"{outcome.gate.name}: {test}"
        for outcome in outcomes
        if outcome.verdict == "unsteady"
        for test in failed_tests(junit_of(outcome.gate)) or ["no test, but its command"]
    ]
    entries = read(path)
    if seen:
        entries = with_seen(entries, seen, today)
        path.write_text(f"{json.dumps(entries, indent=2)}\n", encoding="utf-8")
    return [
        f"{entry['test']}: seen {len(entry['seen'])} times, last on {entry['seen'][-1]}; {entry['cause']}"
        for entry in entries
    ]


def read(path: Path = REGISTER) -> list[Entry]:
    entries: list[Entry] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return entries


def with_seen(entries: Iterable[Entry], tests: Iterable[str], day: str) -> list[Entry]:
    """The entries with these tests seen once more."""
    found = {entry["test"]: entry for entry in entries}
    for test in tests:
        known = found.get(test, Entry(test=test, seen=[], cause=UNKNOWN))
        found[test] = Entry(test=test, seen=[*known["seen"], day], cause=known["cause"])
    return [found[test] for test in sorted(found)]
