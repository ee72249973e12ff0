# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What each rank measured since the last metric line, and what all of them together say; pure but for the gathering."""

from __future__ import annotations

import math
import statistics
from dataclasses import astuple, dataclass
from typing import Mapping, Sequence

from gaudi3_scale.metrics.peak_memory import MemoryUse
from gaudi3_scale.metrics.step_clock import PARTS

NOTABLE = 1.2
"""From this multiple of the median rank's own work on, the slowest rank is named."""


@dataclass(frozen=True)
class Reading:
    """One rank's; seconds are means a step, NaN where they are not known. ``busy`` is data and forward.

    ``memory`` is the most that was in use, ``in_use`` what is between two steps.
    """

    loss: float
    memory: float
    in_use: float
    busy: float
    data: float
    forward: float
    backward: float
    optimizer: float
    communication: float
    other: float


Readings = Sequence[Reading]


def reading(loss: float, memory: MemoryUse, busy: float | None, parts: Mapping[str, float | None]) -> Reading:
    peak, in_use = float(memory.peak()), float(memory.in_use())
    return Reading(loss, peak, in_use, _number(busy), **{part: _number(parts[part]) for part in PARTS})


def as_numbers(one: Reading) -> tuple[float, ...]:
    return astuple(one)


def from_numbers(numbers: Sequence[float]) -> Reading:
    return Reading(*numbers)


def mean_seconds(readings: Readings) -> dict[str, float | None]:
    """The mean over the ranks of each part of a step; None where a rank does not know it."""
    return {part: mean([getattr(one, part) for one in readings]) for part in PARTS}


def slowest(readings: Readings, names: Sequence[str]) -> dict[str, object] | None:
    """The rank with the most work of its own, where that is notably more than the median's; ``names`` are of nodes."""
    busy = [one.busy for one in readings]
    if len(busy) < 2 or any(math.isnan(seconds) for seconds in busy):
        return None
    rank = max(range(len(busy)), key=busy.__getitem__)
    # Of two ranks the faster one: their mean would hide half of what the other is behind.
    median = statistics.median_low(busy)
    if not median or busy[rank] < NOTABLE * median:
        return None
    return {"rank": rank, "node": _node(rank, len(busy), names), "ratio": round(busy[rank] / median, 2)}


def by_node(readings: Readings, names: Sequence[str]) -> dict[str, dict[str, object]]:
    """What each node's ranks needed a step, and which of them had the most work of its own."""
    count = len(readings) // len(names)
    nodes: dict[str, dict[str, object]] = {}
    for number, name in enumerate(names):
        mine = readings[number * count : (number + 1) * count]
        busiest = max(range(count), key=[_or_zero(one.busy) for one in mine].__getitem__)
        nodes[name] = {
            "ranks": count,
            "busy_seconds": mean([one.busy for one in mine]),
            "seconds": mean_seconds(mine),
            "memory_bytes": int(max(one.memory for one in mine)),
            "slowest_rank": number * count + busiest,
            "slowest_busy_seconds": mean([mine[busiest].busy]),
        }
    return nodes


class Averages:
    """Readings of several lines as one a rank, each line with the number of its steps."""

    def __init__(self) -> None:
        self.steps = 0
        self._sums: list[list[float]] = []

    def add(self, readings: Readings, steps: int) -> None:
        rows = [as_numbers(one) for one in readings]
        if not self._sums:
            self._sums = [[0.0] * len(row) for row in rows]
        for total, row in zip(self._sums, rows):
            for index, value in enumerate(row):
                total[index] += steps * value
        self.steps += steps

    def take(self) -> list[Reading]:
        readings = [Reading(*(value / self.steps for value in row)) for row in self._sums]
        self.steps, self._sums = 0, []
        return readings


def mean(values: Sequence[float]) -> float | None:
    """To a tenth of a microsecond; None where one of the values is not known."""
    average = sum(values) / len(values)
    return None if math.isnan(average) else round(average, 7)


def _node(rank: int, ranks: int, names: Sequence[str]) -> str:
    return names[rank * len(names) // ranks]


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _or_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else value
