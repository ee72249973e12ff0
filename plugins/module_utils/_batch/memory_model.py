# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What measured peaks say about the sizes between: how far one may go, and what is out of reach; pure.

The memory of a training step over its batch size is taken to be affine or bent upwards. That holds for activations,
for attention, and for a peak that lies in the optimizer step at small sizes and in the backward pass at large ones.
From the readings follow two sizes for an amount of memory: one that fits even if the curve bends (``cautious``), and
one that nothing above can fit (``hopeful``). Where the readings lie on one line the two are the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Sequence

# What allocators round to, seen in a peak: a rise that is smaller says nothing. Part of the memory to fill.
ROUNDING = 0.005
# A rise above the resting memory that is smaller is not to be trusted: tiny batches. Part of the memory to fill.
LEAST_RISE = 1e-3
# A first reading may understate what follows: attention, small kernels. Exponent, and part of the way that it is given.
FIRST_EXPONENT = 1.13
FIRST_PART = 0.8
# The same where the estimate tells of a line: so much may a device bend it.
BEND = 1.12
# The same for a line that readings agree on, where the way is longer than to so many times the size.
LINE_EXPONENT = 1.03
LONG_WAY = 5
# Two readings make a slope only if they are this far apart; a smaller one is then used.
FAR_ENOUGH = 0.85
# How much more than what was seen between the steps of a trial the peaks of later steps may rise.
SPREAD_RESERVE = 1.25
# What a reach is known from: a single reading, readings on one line, or readings that leave open how the peak grows.
FIRST, LINE, FLAT, OPEN = "first", "line", "flat", "open"
# A rise of so many errors says where a line starts.
INFORMATIVE = 5
# The part of an error that a slope is taken to be too low by.
CAUTION = 0.25
# How much two slopes may differ for the same line, beyond what rounding explains.
SAME_SLOPE = 0.01


@dataclass(frozen=True)
class Prior:
    """What was worked out on the host: bytes without a sample, bytes a sample, and how wrong both may be (0.15).

    Batches are filled up to a multiple of ``period`` above their size and ``offset``; the bytes are of filled ones.
    ``bends``: a sample takes more the more there are, and the line is that around the size that fits.
    """

    static_bytes: float
    bytes_per_sample: float
    uncertainty: float
    period: int = 1
    offset: int = 0
    bends: bool = False

    def told(self, size: float) -> float:
        """The bytes of a batch."""
        return self.static_bytes + size * self.bytes_per_sample

    def filled(self, size: int) -> int:
        """The samples that a batch of ``size`` takes the memory of."""
        return self.period * math.ceil((size + self.offset) / self.period)

    def end(self, filled: float) -> float:
        """The largest size that takes the memory of at most so many samples."""
        return filled if filled == math.inf else math.floor(filled / self.period + 1e-9) * self.period - self.offset

    def slope(self, size: int, peak: float) -> float:
        """What a sample takes at least, as told, where a batch of ``size`` took ``peak`` bytes."""
        told = self.told(size)
        return self.bytes_per_sample * max(peak / told, 1.0) if told > 0 else self.bytes_per_sample

    def agrees(self, size: int, peak: float) -> bool:
        """Whether a reading is as near to what was told as it should be."""
        return abs(peak - self.told(size)) <= self.uncertainty * peak

    def fits(self, memory: float) -> float:
        """The size that fits into ``memory`` bytes even where both figures are too low by the uncertainty."""
        static = self.static_bytes * (1 + math.copysign(self.uncertainty, self.static_bytes))
        return (memory - static) / (self.bytes_per_sample * (1 + self.uncertainty))


@dataclass(frozen=True)
class Reach:
    """Sizes, as fractions: ``cautious`` should fit, nothing above ``hopeful`` can. ``known``: from what."""

    cautious: float
    hopeful: float
    known: str


@dataclass(frozen=True)
class Readings:
    """Sizes with the peaks that were measured, in bytes. ``resting`` is in use between steps (0: not known).

    ``noise`` is how far peaks of one size lie apart, as a part of the peak.
    """

    points: tuple[tuple[int, float], ...]
    resting: float = 0.0
    noise: float = 0.0
    prior: Prior | None = None

    @classmethod
    def of(
        cls, measured: Sequence[tuple[int, float]], resting: float = 0.0, noise: float = 0.0, prior: Prior | None = None
    ) -> Readings:
        """Sorted by size; a peak below that of a smaller size is noise, and is lifted to it."""
        points: list[tuple[int, float]] = []
        for size, peak in sorted(measured):
            points.append((size, max(peak, points[-1][1] if points else 0.0)))
        return cls(tuple(points), min(resting, points[0][1]) if points else resting, noise, prior)

    def filled(self) -> Readings:
        """Counted in the samples to which the estimate says that batches are filled up."""
        if self.prior is None:
            return self
        peaks: dict[int, float] = {}
        for size, peak in self.points:
            peaks[self.prior.filled(size)] = peak
        return replace(self, points=tuple(peaks.items()))

    def flat(self, memory: float) -> bool:
        """Whether the peak has not moved between the smallest and the largest size that ran."""
        return self.points[-1][1] - self.points[0][1] <= self._error(memory) / 2

    def reach(self, memory: float) -> Reach:
        """How far one may go, and how far one could, with ``memory`` bytes."""
        size, peak = self.points[-1]
        if peak >= memory:
            return self._reach_below(memory)
        before = self._before(self._error(memory))
        if before is not None:
            reach = self._reach_above(memory, size, peak, before)
        elif size < 2 * self.points[0][0]:
            reach = Reach(self._first_reach(memory), math.inf, FIRST)
        else:
            reach = Reach(self.chord(memory), math.inf, FLAT)
        if self.prior is None or len(self.points) > 1 or not self.prior.agrees(size, peak):
            return reach
        least = self.prior.bytes_per_sample * max(1 - self.prior.uncertainty, 0.1)
        return replace(reach, hopeful=max(min(reach.hopeful, size + (memory - peak) / least), reach.cautious))

    def most(self, memory: float) -> float:
        """The size that nothing larger can fit, whatever the allocator rounded the readings to."""
        return self.reach(memory + 2 * self._error(memory)).hopeful

    def _error(self, memory: float) -> float:
        return max(ROUNDING * memory, self.noise * self.points[-1][1])

    def chord(self, memory: float) -> float:
        """Along the straight line from the resting memory: too short where some of the peak is there at any size."""
        size, peak = self.points[-1]
        # Noise may hide all of the rise: then the least that it cannot hide is taken.
        rise = max(peak - self.resting, self.noise * peak, LEAST_RISE * memory)
        return size * max(memory - self.resting, 0) / rise

    def _first_reach(self, memory: float) -> float:
        if self.prior is not None:
            return self.estimated(self.prior, memory, memory)[0]
        size = self.points[-1][0]
        times = self.chord(memory) / size
        return float(size * min(times ** (1 / FIRST_EXPONENT), 1 + (times - 1) * FIRST_PART))

    def estimated(self, prior: Prior, usable: float, whole: float) -> tuple[float, float]:
        """Two sizes: one that takes the ``whole`` on the worst curve that is allowed, one that is ``usable`` as told.

        A sample takes what was told and the uncertainty, or what it took between two readings, and what a device bends
        it by. Where nothing is told or read to bend, no sample takes more than all took above the resting memory.
        """
        size, peak = self.points[-1]
        before, low = self.points[-2] if len(self.points) > 1 else (0, peak)
        read = (peak - low) / (size - before)
        slope = max(prior.slope(size, peak), read)
        bends = read > (1 + SAME_SLOPE) * (peak - self.resting) / size
        uncertain = max(prior.bytes_per_sample, read if bends else 0.0)
        steepest = max(slope, uncertain * (1 + prior.uncertainty))
        bend = 1.0 if prior.bends else BEND
        surely, likely = size + (whole - peak) / (steepest * bend), size + (usable - peak) / slope
        if self.resting and not (bends or prior.bends):
            chord = self.chord(usable)
            bent = size * (self.chord(whole) / size) ** (1 / BEND)
            surely, likely = max(surely, min(chord, bent)), max(likely, chord)
        return surely, likely

    def _reach_above(self, memory: float, size: int, peak: float, before: tuple[int, float]) -> Reach:
        error, chord = self._error(memory), self.chord(memory)
        before_size, before_peak = before
        rise, run = peak - before_peak, size - before_size
        secant = size + (memory - peak) * run / rise
        shortest = size + (memory - peak) * run / (rise + CAUTION * error)
        longest = size + (memory - peak) * run / (rise - error)
        bent = self._bent(memory, before_size, before_peak)
        if self._on_one_line(error, rise / run, before):
            times = shortest / size
            straight = size * times ** (1 / LINE_EXPONENT) if times > LONG_WAY else shortest
            return Reach(min(straight, bent), longest, LINE)
        return Reach(min(chord, shortest, bent), max(secant, longest), OPEN)

    def _on_one_line(self, error: float, slope: float, before: tuple[int, float]) -> bool:
        """Whether the two readings of the slope lie on a line with the resting memory, or with one before them."""
        size, peak = self.points[-1]
        before_size, before_peak = before
        starts = [(0, self.resting)] if self.resting else []
        starts += [point for point in self.points if point[0] <= FAR_ENOUGH * before_size]
        # From a start that it did not rise from, a reading lies on any line: that is a plateau, or says nothing.
        starts = [start for start in starts if before_peak - start[1] > INFORMATIVE * error]
        for start_size, start_peak in starts:
            expected = start_peak + (peak - start_peak) * (before_size - start_size) / (size - start_size)
            if abs(before_peak - expected) <= error / 2 + SAME_SLOPE * slope * (before_size - start_size):
                return True
        return False

    def _bent(self, memory: float, before_size: int, before_peak: float) -> float:
        """Where a curve that bends upwards, as a power and as a parabola from the resting memory, fills ``memory``."""
        size, peak = self.points[-1]
        base = self.resting
        if before_peak <= base or peak <= base:
            return math.inf
        exponent = math.log((peak - base) / (before_peak - base)) / math.log(size / before_size)
        if exponent <= 1:
            return math.inf
        power: float = size * ((memory - base) / (peak - base)) ** (1 / exponent)
        high, low = (peak - base) / size, (before_peak - base) / before_size
        bend = (high - low) / (size - before_size)
        if bend <= 0:
            return power
        linear = high - bend * size
        parabola = (-linear + math.sqrt(linear * linear + 4 * bend * (memory - base))) / (2 * bend)
        return min(power, parabola)

    def _reach_below(self, memory: float) -> Reach:
        """Where the largest size that ran took more than ``memory``: what the line to the one below says."""
        below = [point for point in self.points if point[1] < memory]
        size, peak = next(point for point in self.points if point[1] >= memory)
        start_size, start_peak = below[-1] if below else (0, self.resting)
        slope = (peak - start_peak) / (size - start_size)
        if slope <= 0:
            return Reach(0, 0, LINE)
        between = start_size + (memory - start_peak) / slope
        # A step of rounding lies somewhere between: half an error further down saves coming down it size by size.
        return Reach(between - self._error(memory) / 2 / slope, between, LINE)

    def _before(self, error: float) -> tuple[int, float] | None:
        """The nearest reading that the last one has clearly risen from; one far enough away if there is one."""
        size, peak = self.points[-1]
        risen = [point for point in self.points if peak - point[1] > 2 * error]
        far = [point for point in risen if point[0] <= FAR_ENOUGH * size]
        return far[-1] if far else risen[0] if risen else None
