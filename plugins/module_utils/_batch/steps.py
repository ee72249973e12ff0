# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Memory that grows in steps, since batches are filled up to a multiple: which periods the readings allow; pure.

A batch of ``size`` samples takes as much as the next multiple of the period above ``size + offset``. Counted in such
blocks the peaks lie on a line; a period of 1 is a line without steps. What the readings do not exclude may be so, and
whoever goes on from there has to fit with each of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Sequence

# What batches are filled up to, as a rule, and the other periods, which are thought of where none of these will do.
USUAL = (1, 2, 4, 8, 16, 32, 64, 128, 256)
OTHERS = tuple(period for period in range(3, 129) if period not in USUAL)
# How far a peak may lie beside its line and still be on it, as a part of the memory: what allocators keep by chance.
BESIDE = 0.001

Point = tuple[int, float]


@dataclass(frozen=True)
class Steps:
    """A period with the least and the largest offset that say the same of all readings.

    A block takes ``least`` to ``most`` bytes; the last reading has ``blocks`` of them and a peak of ``peak``.
    """

    period: int
    first: int
    last: int
    blocks: int
    peak: float
    least: float
    most: float

    def surely(self, memory: float) -> float:
        """The largest size that fits into ``memory`` wherever in the range the offset lies; math.inf: any."""
        return self._size(memory, self.most, self.last)

    def hopefully(self, memory: float) -> float:
        """The largest size that could fit."""
        return self._size(memory, self.least, self.first)

    def _size(self, memory: float, block: float, offset: int) -> float:
        if block <= 0:
            return math.inf
        return float((self.blocks + math.floor((memory - self.peak) / block + 1e-9)) * self.period - offset)


def possible(points: Sequence[Point], resting: float, beside: float, failed: int | None, memory: float) -> list[Steps]:
    """All periods that explain ``points``, each at most ``beside`` bytes from its line.

    ``failed`` is a size that needed more than ``memory``; None: there is none.
    """
    for periods in (USUAL, OTHERS):
        found = [steps for period in periods for steps in _explaining(points, resting, beside, period)]
        found = [one for one in found if failed is None or one.surely(memory) < failed]
        if found:
            return found
    return []


def _explaining(points: Sequence[Point], resting: float, beside: float, period: int) -> list[Steps]:
    # The number of blocks of a reading changes with the offset only there.
    starts = sorted({0, *((1 - size) % period for size, _peak in points)})
    tried = [(period, first, following - 1) for first, following in zip(starts, [*starts[1:], period])]
    return [steps for one in tried if (steps := _explained(points, resting, beside, one)) is not None]


def _explained(points: Sequence[Point], resting: float, beside: float, tried: tuple[int, int, int]) -> Steps | None:
    period, first, last = tried
    counts = [math.ceil((size + first) / period) for size, _peak in points]
    lowest, highest = points[0][1], points[-1][1]
    # What is there at any size is not less than what is there between two steps.
    most = (highest - resting + beside) / max(counts[-1], 1)
    run = counts[-1] - counts[0]
    if run == 0:
        if highest - lowest > 2 * beside:
            return None
        return Steps(period, first, last, counts[-1], highest, 0.0, most)
    block = (highest - lowest) / run
    for (_size, peak), count in zip(points, counts):
        if abs(peak - lowest - block * (count - counts[0])) > beside:
            return None
    least = block - 2 * beside / run
    if period == 1:
        # A line that starts below what rests is a curve that bends.
        most = math.inf
    if least > most:
        return None
    return Steps(period, first, last, counts[-1], highest, max(least, 0.0), min(block + 2 * beside / run, most))
