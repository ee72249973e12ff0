# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Ratios and differences of measured runs with their confidence intervals; pure, standard library only."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from functools import cache
from typing import Sequence

# Above this Student's t is 640 even for one degree of freedom and a level of 0.999: the search for it ends here.
_HIGHEST_QUANTILE = 1e6
_HALVINGS = 80


@dataclass(frozen=True)
class Interval:
    """An estimate with the interval that holds the true value at ``level`` of all repetitions."""

    estimate: float
    low: float
    high: float
    level: float

    def excludes(self, value: float) -> bool:
        return value < self.low or value > self.high


def paired_ratio(numerators: Sequence[float], denominators: Sequence[float], level: float) -> Interval | None:
    """The geometric mean of the ratios, pair by pair; None with fewer than two pairs.

    Times are positive and a slow machine makes all of them longer, so their logarithms are what varies alike. Pairs
    are of one round, so whatever slows a whole round is in no ratio.
    """
    logs = [math.log(numerator / denominator) for numerator, denominator in zip(numerators, denominators)]
    inner = mean_interval(logs, level)
    return _exponential(inner) if inner else None


def mean_interval(values: Sequence[float], level: float) -> Interval | None:
    """Student's interval of the mean; None with fewer than two values."""
    if len(values) < 2:
        return None
    mean = statistics.fmean(values)
    error = statistics.stdev(values) / math.sqrt(len(values))
    half = student_quantile(level, len(values) - 1) * error
    return Interval(mean, mean - half, mean + half, level)


def independent_ratio(numerators: Sequence[float], denominators: Sequence[float], level: float) -> Interval | None:
    """The ratio of two geometric means measured at different times (Welch's interval); None with fewer than two."""
    if min(len(numerators), len(denominators)) < 2:
        return None
    samples = [list(map(math.log, values)) for values in (numerators, denominators)]
    difference = statistics.fmean(samples[0]) - statistics.fmean(samples[1])
    errors = [statistics.variance(values) / len(values) for values in samples]
    total = sum(errors)
    if total == 0:
        return _exponential(Interval(difference, difference, difference, level))
    freedom = total**2 / sum(error**2 / (len(values) - 1) for error, values in zip(errors, samples))
    half = student_quantile(level, max(1, math.floor(freedom))) * math.sqrt(total)
    return _exponential(Interval(difference, difference - half, difference + half, level))


@cache
def student_quantile(level: float, freedom: int) -> float:
    """The t that holds ``level`` of Student's distribution between -t and t.

    The two closed sums are 26.7.3 and 26.7.4 of Abramowitz and Stegun, Handbook of Mathematical Functions; their
    inverse is found by halving.
    """
    low, high = 0.0, _HIGHEST_QUANTILE
    for _step in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _between(middle, freedom) < level else (low, middle)
    return high


def _between(t: float, freedom: int) -> float:
    """The part of Student's distribution between -t and t."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    total, term = 0.0, cosine if odd else 1.0
    for number in range(1, (freedom - odd) // 2 + 1):
        total += term
        term *= cosine**2 * ((2 * number) / (2 * number + 1) if odd else (2 * number - 1) / (2 * number))
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def _exponential(inner: Interval) -> Interval:
    return Interval(math.exp(inner.estimate), math.exp(inner.low), math.exp(inner.high), inner.level)
