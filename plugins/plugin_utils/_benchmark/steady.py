# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""From which step on a run is steady, and how fast it is then; pure.

The steady state begins with the first metric line after the warm-up that is as fast as the rest, and from which on the
run does not drift and does not vary by more than is allowed. It lasts to the end. What counts is the work of these
steps over their whole time, so a step that stalls now and then is in the figure.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Of fewer lines nobody can tell whether they vary.
FEWEST_LINES = 4
# What the median absolute deviation is of a standard deviation, where the values are normal.
_DEVIATION = 1.4826


@dataclass(frozen=True)
class Line:
    """The steps from ``first`` to ``last``: ``seconds`` for each, and work per second by all ranks."""

    first: int
    last: int
    seconds: float
    rate: float

    @property
    def duration(self) -> float:
        return self.seconds * (self.last - self.first + 1)


@dataclass(frozen=True)
class Steady:
    """``rate`` over the steps from ``first`` to ``last``, and how much the lines vary. ``why`` there is no rate."""

    first: int = 0
    last: int = 0
    rate: float = 0.0
    spread: float = 0.0
    why: str = ""

    @property
    def steps(self) -> str:
        return f"{self.first} to {self.last}"


def steady_state(lines: Sequence[Line], warm_up: int, allowed: float) -> Steady:
    """The longest end of the run that is steady, if that is at least half of what follows the warm-up."""
    after = [line for line in lines if line.first > warm_up]
    if len(after) < FEWEST_LINES:
        return Steady(
            why=f"only {len(after)} metric lines follow the {warm_up} warm-up steps; give more steps, or report often"
        )
    fewest = max(FEWEST_LINES, (len(after) + 1) // 2)
    for start in range(len(after) - fewest + 1):
        counted = after[start:]
        if max(spread(counted), drift(counted), _apart(counted)) <= allowed:
            return Steady(counted[0].first, counted[-1].last, _rate(counted), spread(counted))
    end = after[-fewest:]
    return Steady(
        why=f"not steady: lines from step {end[0].first} to {end[-1].last} vary by {spread(end):.0%} and drift by "
        f"{drift(end):.0%}, and {allowed:.0%} is allowed; give more steps, or use idle nodes"
    )


def spread(lines: Sequence[Line]) -> float:
    """How much the rates vary, as a fraction of their median: single stalls do not count here."""
    rates = [line.rate for line in lines]
    middle = statistics.median(rates)
    return _DEVIATION * statistics.median(abs(rate - middle) for rate in rates) / middle


def drift(lines: Sequence[Line]) -> float:
    """How far the medians of both halves are apart, as a fraction of the whole median."""
    rates = [line.rate for line in lines]
    half = len(rates) // 2
    return abs(statistics.median(rates[half:]) - statistics.median(rates[:half])) / statistics.median(rates)


def _apart(lines: Sequence[Line]) -> float:
    """How far the first one is from the median, as a fraction of it: a run that still gets faster begins later."""
    middle = statistics.median(line.rate for line in lines)
    return abs(lines[0].rate - middle) / middle


def _rate(lines: Sequence[Line]) -> float:
    return sum(line.rate * line.duration for line in lines) / sum(line.duration for line in lines)
