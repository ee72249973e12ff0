# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A node's energy as it was, a line a minute, so that what a job has used can be told when it is over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._follow.json_lines import mapping_of
from .day_log import append, lines
from .energy import Energy


@dataclass(frozen=True)
class Reading:
    """Of one card at ``time`` (Unix time): what it has used so far, and how long nobody knew."""

    time: float
    joules: float
    gap_seconds: float


@dataclass(frozen=True)
class Used:
    """Of one card over a period: ``gap_seconds`` of it are in no joule."""

    joules: float
    gap_seconds: float


def note(directory: Path, energy: Mapping[str, Energy], now: float) -> None:
    """Append a line where the last is a minute old; days that are long ago go."""
    if energy:
        cards = {name: [round(one.joules, 1), round(one.gap_seconds, 1)] for name, one in energy.items()}
        append(directory, {"cards": cards}, now)


def read(directory: Path, begin: float, end: float) -> dict[str, list[Reading]]:
    """By card, in the order of time: all of the period, and what is next to it on either side."""
    found: dict[str, list[Reading]] = {}
    for line in lines(directory, begin, end):
        for card, reading in _readings(line):
            found.setdefault(card, []).append(reading)
    return {card: _around(sorted(ones, key=lambda one: one.time), begin, end) for card, ones in found.items()}


def used(readings: Iterable[Reading], begin: float, end: float) -> Used:
    """Between two moments, each as if power had been even between the two lines around it.

    Time before the first line and after the last is a gap, and so is the time in which a counter began anew.
    """
    joules, known, lost = 0.0, 0.0, 0.0
    ones = list(readings)
    for before, after in zip(ones, ones[1:]):
        low, high = max(before.time, begin), min(after.time, end)
        if high <= low or after.joules < before.joules or after.gap_seconds < before.gap_seconds:
            continue
        share = (high - low) / (after.time - before.time)
        joules += share * (after.joules - before.joules)
        lost += share * (after.gap_seconds - before.gap_seconds)
        known += high - low
    return Used(joules, max(0.0, end - begin - known) + lost)


def _around(readings: list[Reading], begin: float, end: float) -> list[Reading]:
    first = max((place for place, one in enumerate(readings) if one.time <= begin), default=0)
    last = min((place for place, one in enumerate(readings) if one.time >= end), default=len(readings) - 1)
    return readings[first : last + 1]


def _readings(line: Mapping[str, Any]) -> Iterator[tuple[str, Reading]]:
    for card, pair in mapping_of(line.get("cards")).items():
        try:
            yield card, Reading(float(line["time"]), float(pair[0]), float(pair[1]))
        except (KeyError, IndexError, TypeError, ValueError):
            continue
