# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How far the next trial goes, from what curves and steps the readings allow: never where one of them says no; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Sequence

from .memory_model import FIRST, FIRST_EXPONENT, FLAT, LINE, ROUNDING, SPREAD_RESERVE, Reach, Readings
from .steps import BESIDE, Steps, possible

# Readings tell whether a peak rises where the estimate says so by so many times what chance may hide.
TELLING = 5
# Peaks that lie further apart than this part of them hide whatever steps there are.
STEADY = 0.01


@dataclass(frozen=True)
class Way:
    """From ``readings`` to ``usable`` bytes; ``steps`` are the periods that the readings allow.

    ``whole`` is what may be filled before a step runs out of memory. ``beside`` is how far a peak may lie beside its
    curve by chance. ``estimated``: the host told something, even if the readings say otherwise since.
    """

    readings: Readings
    steps: Sequence[Steps]
    usable: float
    whole: float
    beside: float
    estimated: bool = False

    @classmethod
    def of(cls, readings: Readings, usable: float, whole: float, failed: int | None) -> Way:
        """``failed`` is the smallest size that ran out of the ``whole`` memory."""
        beside = max(BESIDE * usable, readings.noise * readings.points[-1][1])
        steady = max(whole * (1 - SPREAD_RESERVE * readings.noise), usable)
        # Counted in batches that are filled up as estimated there are no steps, unless a reading says otherwise.
        filled, estimated = readings.filled(), readings.prior is not None
        if readings.noise > STEADY or (estimated and not _rests(filled, beside)):
            return cls(filled, (), usable, steady, beside, estimated)
        readings = replace(readings, prior=None)
        steps = possible(readings.points, readings.resting, beside, failed, whole)
        return cls(readings, steps, usable, steady, beside, estimated)

    @property
    def between(self) -> tuple[int, int] | None:
        """The last size that fits and the next smaller one with a clearly lower peak, if a step lies between them."""
        inside = [point for point in self.readings.points if point[1] <= self.usable]
        peak = inside[-1][1]
        same = min(point[0] for point in inside if peak - point[1] <= 2 * self.beside)
        lower = [point[0] for point in inside if point[0] < same]
        return (lower[-1], same) if lower and any(one.period > 1 for one in self.steps) else None

    @property
    def steady(self) -> bool:
        return self.readings.noise <= STEADY

    @property
    def surely_known(self) -> bool:
        """Whether there is an estimate, or a period: then nobody has to go where something could fit or not."""
        return self.estimated or self._in_steps

    @property
    def cautious(self) -> float:
        """The size to try next: it fits whatever the estimate and the readings allow."""
        return self._end(self._fitting[0])

    @property
    def likely(self) -> float:
        """The same where nothing is worse than was told or read."""
        return self._end(self._fitting[1])

    @property
    def hopeful(self) -> float:
        """The size that nothing larger can fit, by what is known now."""
        return self._end(self._hopeful)

    @property
    def without_margin(self) -> float:
        """The same if the margin may be filled too."""
        return replace(self, usable=self.whole).hopeful

    @property
    def likely_without_margin(self) -> float:
        """The likely size if the margin may be filled too."""
        return replace(self, usable=self.whole).likely

    @property
    def as_estimated(self) -> bool:
        """Whether there is an estimate, and no peak rests where it says that it rises."""
        return self.readings.prior is not None

    @property
    def blocked(self) -> bool:
        """Whether one more step would be too much, where peaks rest although the estimate says that they rise.

        A step is at most as high as the least rise between two readings, or as all that is above the resting memory.
        """
        levels = [peak for _size, peak in self.readings.points if peak <= self.usable]
        if not self.estimated or self.as_estimated or len(levels) < 2:
            return False
        rises = [after - before for before, after in zip(levels, levels[1:]) if after - before > 2 * self.beside]
        step = min(rises, default=levels[-1] - self.readings.resting)
        return levels[-1] + step - 2 * self.beside > self.whole

    def filled(self, size: int) -> int:
        """The largest size that takes the memory of ``size``, as the estimate says that batches are filled up."""
        prior = self.readings.prior
        return size if prior is None else math.floor(prior.end(prior.filled(size)))

    def most(self, memory: float) -> float:
        """The size that nothing larger can fit, whatever the allocator rounded the readings to."""
        if self._secant:
            return self._end(self._along(memory * (1 + 2 * ROUNDING)))
        most = self.readings.most(memory)
        return self._end(max(most, self._in_all_steps(memory)) if self.surely_known else most)

    def _end(self, size: float) -> float:
        """In samples, where the readings are counted in those that batches are filled up to."""
        return size if self.readings.prior is None else self.readings.prior.end(size)

    @property
    def why(self) -> str:
        if self._in_steps:
            return "fits wherever the steps of the peak may lie"
        return {
            FIRST: "fits according to the first reading",
            LINE: "the size at which the readings predict full memory",
            FLAT: "fits even if the peak starts to grow from here",
        }.get(LINE if self._secant else self.reach.known, "between the sizes that should fit and could fit")

    @cached_property
    def reach(self) -> Reach:
        return self.readings.reach(self.usable)

    @cached_property
    def _fitting(self) -> tuple[float, float]:
        prior = self.readings.prior
        surely = min((one.surely(self.usable) for one in self.steps), default=math.inf)
        if self._in_steps:
            return surely, surely
        if prior is not None and self.readings.points[-1][1] < self.usable:
            return self.readings.estimated(prior, self.usable, self.whole)
        size, curve = self.readings.points[-1][0], self.reach.cautious
        if not self.estimated:
            return curve, curve
        bent = size * max(curve / size, 1.0) ** (1 / FIRST_EXPONENT) if self.reach.known == FLAT else curve
        return min(bent, surely), min(curve, surely)

    @cached_property
    def _in_steps(self) -> bool:
        """Whether the peak rises, rests and rises as no curve does: two readings are equal, and clearly above one."""
        levels = [peak for _size, peak in self.readings.points]
        rests = any(
            after - before <= self.beside and before - levels[0] > 2 * self.beside
            for before, after in zip(levels, levels[1:])
        )
        return rests and bool(self.steps) and all(one.period > 1 for one in self.steps)

    @property
    def _hopeful(self) -> float:
        if self._in_steps:
            return self._in_all_steps(self.usable)
        if self._secant:
            return self._along(self.usable)
        reach = self.reach.hopeful
        return max(reach, self._in_all_steps(self.usable)) if self.estimated else reach

    @cached_property
    def _secant(self) -> bool:
        """Whether the last two readings make a line, since the estimate says that there is one."""
        points = self.readings.points
        if self.readings.prior is None or len(points) < 2 or points[-1][1] >= self.usable:
            return False
        return points[-1][1] - points[-2][1] > TELLING * self.beside

    def _along(self, memory: float) -> float:
        """Where the line through the last two readings, as flat as chance allows, fills the memory."""
        (before, low), (size, peak) = self.readings.points[-2:]
        return size + max(memory - peak, 0.0) * (size - before) / (peak - low - 2 * self.beside)

    def _in_all_steps(self, memory: float) -> float:
        return max((one.hopefully(memory) for one in self.steps), default=0.0)


def _rests(readings: Readings, beside: float) -> bool:
    """Whether the peak stays where the estimate says that it rises."""
    prior = readings.prior
    return prior is not None and any(
        after - before <= beside and (larger - size) * prior.bytes_per_sample > TELLING * beside
        for (size, before), (larger, after) in zip(readings.points, readings.points[1:])
    )
