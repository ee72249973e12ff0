# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Steps in a history of benchmarks: where the speed has another level, by how much, and what else changed there; pure.

A history is cut in two where the means of both sides differ most, if that is more than chance, and so is each part in
turn. The noise is that of the repeats within an entry, or that from entry to entry, whichever is more. So a history of
a few entries is judged by their repeats, and a long one by how much each differs from the one before. Up and down are
alike.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._compare.intervals import Interval, student_quantile

# Of a thousand histories without a step, two show one all the same.
LEVEL = 0.998
# Smaller changes are not told, however sure they are.
LEAST = 0.01
# Of fewer differences from entry to entry nobody knows what is usual.
_FEWEST_DIFFERENCES = 5
# What is left of a normal variance without its largest fifth.
_KEPT_OF_NORMAL = 0.4377
# Of these the names are told one by one where they differ.
_MAPPINGS = ("flags", "versions")
NOTHING = "nothing that the history records"


@dataclass(frozen=True)
class Entry:
    """One benchmark of a case: the rate of each repeat, and what it was measured with."""

    rates: tuple[float, ...]
    key: Mapping[str, Any] = field(default_factory=dict)
    time: float = 0.0

    @cached_property
    def mean(self) -> float:
        """Of the logarithms."""
        return statistics.fmean(map(math.log, self.rates))

    @cached_property
    def variance(self) -> float:
        return statistics.variance(map(math.log, self.rates)) if len(self.rates) > 1 else 0.0


@dataclass(frozen=True)
class Step:
    """The entry at ``position`` is the first of another level; ``speed`` is that level over the one before."""

    position: int
    speed: Interval
    causes: tuple[str, ...]

    @property
    def cause(self) -> str:
        return "; ".join(self.causes) or NOTHING


def find_steps(entries: Sequence[Entry], level: float = LEVEL, least: float = LEAST) -> list[Step]:
    """In the order of the history. An entry that stands alone between two of one level is an outlier, and no step."""
    noise = noise_of(entries)
    if noise is None:
        return []
    judge = _Judge(noise, level, least)
    edges = _without_outliers(entries, [0, *judge.cuts(entries, 0, len(entries)), len(entries)], judge)
    found = []
    for before, at, after in zip(edges, edges[1:], edges[2:]):
        speed = judge.difference(entries[before:at], entries[at:after], level)
        found.append(Step(at, speed, tuple(changed(entries[at - 1].key, entries[at].key))))
    return found


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Each part of the key that differs, in words."""
    said = []
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if name in _MAPPINGS and isinstance(old or {}, Mapping) and isinstance(new or {}, Mapping):
            inner = changed(old or {}, new or {})
            said += [f"flag {one}" for one in inner] if name == "flags" else inner
        else:
            said.append(f"{name} {_shown(old)} to {_shown(new)}")
    return said


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value)) or "none"
    return "none" if value in (None, "", {}) else str(value)


@dataclass(frozen=True)
class Noise:
    """The variance of an entry's mean, and how many degrees of freedom that was estimated with."""

    variance: float
    freedom: int


def noise_of(entries: Sequence[Entry]) -> Noise | None:
    """None where neither repeats nor entries show any."""
    found = [one for one in (_of_repeats(entries), _of_entries(entries)) if one is not None]
    return max(found, key=lambda one: one.variance, default=None)


def _of_repeats(entries: Sequence[Entry]) -> Noise | None:
    repeated = [entry for entry in entries if len(entry.rates) > 1]
    freedom = sum(len(entry.rates) - 1 for entry in repeated)
    if not freedom:
        return None
    within = sum(entry.variance * (len(entry.rates) - 1) for entry in repeated) / freedom
    return Noise(within * statistics.fmean(1 / len(entry.rates) for entry in entries), freedom)


def _of_entries(entries: Sequence[Entry]) -> Noise | None:
    """By how much each differs from the one before. The largest of these differences may be steps: they do not count,
    and what normal ones would have lost by that is made up for."""
    squares = sorted((after.mean - before.mean) ** 2 for before, after in zip(entries, entries[1:]))
    if len(squares) < _FEWEST_DIFFERENCES:
        return None
    kept = squares[: len(squares) - max(1, len(squares) // 5)]
    # Each difference has the noise of two entries.
    return Noise(statistics.fmean(kept) / _KEPT_OF_NORMAL / 2, len(squares) // 2)


@dataclass(frozen=True)
class _Judge:
    """Whether two parts of a history differ, with the noise of the whole of it."""

    noise: Noise
    level: float
    least: float

    def difference(self, before: Sequence[Entry], after: Sequence[Entry], level: float) -> Interval:
        """The level of ``after`` over that of ``before``."""
        middle = statistics.fmean(one.mean for one in after) - statistics.fmean(one.mean for one in before)
        error = math.sqrt(self.noise.variance * (1 / len(before) + 1 / len(after)))
        half = student_quantile(level, self.noise.freedom) * error
        return Interval(math.exp(middle), math.exp(middle - half), math.exp(middle + half), level)

    def best_cut(self, entries: Sequence[Entry]) -> int | None:
        """Where both sides differ most, if that is more than chance and more than the least."""
        if len(entries) < 2:
            return None
        sums = [0.0, *accumulate(entry.mean for entry in entries)]
        total, count = sums[-1], len(entries)

        def strength(at: int) -> float:
            apart = abs((total - sums[at]) / (count - at) - sums[at] / at)
            return apart / math.sqrt(1 / at + 1 / (count - at))

        best = max(range(1, count), key=strength)
        # To look at many places finds more by chance (Bonferroni).
        found = self.difference(entries[:best], entries[best:], 1 - (1 - self.level) / (count - 1))
        return best if found.excludes(1) and abs(found.estimate - 1) >= self.least else None

    def cuts(self, entries: Sequence[Entry], start: int, end: int) -> list[int]:
        """All of them between ``start`` and ``end``, ascending."""
        best = self.best_cut(entries[start:end])
        if best is None:
            return []
        at = start + best
        return [*self.cuts(entries, start, at), at, *self.cuts(entries, at, end)]


def _without_outliers(entries: Sequence[Entry], edges: Sequence[int], judge: _Judge) -> list[int]:
    kept = list(edges)
    for before, at, after, end in zip(edges, edges[1:], edges[2:], edges[3:]):
        alone = after - at == 1 and at in kept and after in kept
        if alone and judge.best_cut([*entries[before:at], *entries[after:end]]) is None:
            kept = [edge for edge in kept if edge not in (at, after)]
    return kept
