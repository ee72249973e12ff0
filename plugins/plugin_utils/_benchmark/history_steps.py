# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Steps in a history of benchmarks: where the speed has another level, by how much, and what else changed there; pure.

A history is cut in two where the means of both sides differ most, if that is more than chance, and so is each part in
turn. The noise is that of the repeats within an entry, or that from entry to entry, whichever is more. So a history of
two entries is judged by their repeats, and a long one by how much its equal entries differ. Up and down are alike.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._compare.intervals import Interval, student_quantile

# Of a thousand histories without a step, two show one all the same.
LEVEL = 0.998
# Smaller changes are not told, however sure they are.
LEAST = 0.01
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
    edges = [0, *_cuts(entries, 0, len(entries), level, least), len(entries)]
    edges = _without_outliers(entries, edges, level, least)
    found = []
    for before, at, after in zip(edges, edges[1:], edges[2:]):
        speed = _difference(entries[before:at], entries[at:after], level)
        if speed is not None:
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


def _cuts(entries: Sequence[Entry], start: int, end: int, level: float, least: float) -> list[int]:
    """Where it is cut between ``start`` and ``end``, ascending."""
    best = _best_cut(entries[start:end], level, least)
    if best is None:
        return []
    at = start + best
    return [*_cuts(entries, start, at, level, least), at, *_cuts(entries, at, end, level, least)]


def _best_cut(entries: Sequence[Entry], level: float, least: float) -> int | None:
    if len(entries) < 2:
        return None
    # To look at many places finds more by chance (Bonferroni).
    each = 1 - (1 - level) / (len(entries) - 1)
    found: list[tuple[float, int]] = []
    for at in range(1, len(entries)):
        difference = _difference(entries[:at], entries[at:], each)
        if difference is None:
            continue
        middle = math.log(difference.estimate)
        half = math.log(difference.high) - middle
        found.append((abs(middle) / half if half > 0 else math.inf if middle else 0.0, at))
    if not found:
        return None
    strength, at = max(found, key=lambda one: (one[0], -one[1]))
    mean = [statistics.fmean(entry.mean for entry in part) for part in (entries[:at], entries[at:])]
    return at if strength > 1 and abs(math.expm1(mean[1] - mean[0])) >= least else None


def _difference(before: Sequence[Entry], after: Sequence[Entry], level: float) -> Interval | None:
    """The level of ``after`` over that of ``before``; None where neither repeats nor entries show any noise."""
    noise = [one for one in (_of_repeats([*before, *after]), _of_entries(before, after)) if one is not None]
    if not noise:
        return None
    variance, freedom = max(noise)
    difference = statistics.fmean(one.mean for one in after) - statistics.fmean(one.mean for one in before)
    error = math.sqrt(variance * (1 / len(before) + 1 / len(after)))
    half = student_quantile(level, freedom) * error
    return Interval(math.exp(difference), math.exp(difference - half), math.exp(difference + half), level)


def _of_repeats(entries: Sequence[Entry]) -> tuple[float, int] | None:
    """The variance of an entry's mean by its repeats, and its degrees of freedom."""
    repeated = [entry for entry in entries if len(entry.rates) > 1]
    freedom = sum(len(entry.rates) - 1 for entry in repeated)
    if not freedom:
        return None
    within = sum(entry.variance * (len(entry.rates) - 1) for entry in repeated) / freedom
    return within * statistics.fmean(1 / len(entry.rates) for entry in entries), freedom


def _of_entries(*sides: Sequence[Entry]) -> tuple[float, int] | None:
    """The same by how the entries of each side differ among themselves."""
    freedom = sum(len(side) - 1 for side in sides)
    if not freedom:
        return None
    total = sum(statistics.variance([one.mean for one in side]) * (len(side) - 1) for side in sides if len(side) > 1)
    return total / freedom, freedom


def _without_outliers(entries: Sequence[Entry], edges: Sequence[int], level: float, least: float) -> list[int]:
    kept = list(edges)
    for before, at, after, end in zip(edges, edges[1:], edges[2:], edges[3:]):
        alone = after - at == 1 and at in kept and after in kept
        if alone and _best_cut([*entries[before:at], *entries[after:end]], level, least) is None:
            kept = [edge for edge in kept if edge not in (at, after)]
    return kept
