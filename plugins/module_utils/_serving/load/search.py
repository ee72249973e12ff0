# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The highest load at which a limit holds, found in at most seven runs; pure.

Loads are whole numbers of clients. Of up to 2,048 of them, 20 and 5 % apart above, there are 115 levels, and seven runs
tell 127 apart whatever they find: each halves what is left. A run's latency says more than whether it was above the
limit, so most searches end sooner: the next level is where a straight line through what was measured, in logarithms,
meets the limit, as far as the runs that are left allow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..._errors import GaudiError

MOST_RUNS = 7
MOST_CLIENTS = 2048
STEP = 1.05
# An error is worse than any latency.
FAILED = math.inf


@dataclass(frozen=True)
class Limits:
    """Of the 95th percentile, in milliseconds; 0 for none."""

    first_token_ms: float = 0.0
    between_tokens_ms: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.first_token_ms or self.between_tokens_ms)


def levels(highest: int) -> list[int]:
    """All that is tried up to ``highest``: each but the last at most 5 % below the next, or one."""
    if not 1 <= highest <= MOST_CLIENTS:
        raise GaudiError(f"highest is {highest}; give a number of clients from 1 to {MOST_CLIENTS}.")
    found = [1]
    while found[-1] < highest:
        found.append(min(highest, max(found[-1] + 1, math.floor(found[-1] * STEP))))
    return found


def misses(figures: Mapping[str, Any], limits: Limits) -> float:
    """How many times its limit the worst 95th percentile is; at most 1 where all hold."""
    if figures["failed"]:
        return FAILED
    asked = {"first_token_ms": limits.first_token_ms, "between_tokens_ms": limits.between_tokens_ms}
    return max(float(figures[name].get("p95", 0.0)) / limit for name, limit in asked.items() if limit)


def next_level(all_levels: Sequence[int], tried: Mapping[int, float], guess: int = 0) -> int | None:
    """What to try after ``tried``, which maps a level to what :func:`misses` says of it; None once it is found."""
    low, high = bracket(all_levels, tried)
    left = MOST_RUNS - len(tried)
    if high - low <= 1 or left <= 0:
        return None
    half = 1 << (left - 1)
    least, most = max(low + 1, high - half), min(high - 1, low + half)
    if least > most:
        least = most = (low + high) // 2
    wanted = _meeting(all_levels, tried, low, high, guess)
    place = max((index for index, level in enumerate(all_levels) if level <= wanted), default=0)
    return all_levels[min(max(place, least), most)]


def found_level(all_levels: Sequence[int], tried: Mapping[int, float]) -> int:
    """The highest that holds; 0 where none does."""
    low, _high = bracket(all_levels, tried)
    return all_levels[low] if low >= 0 else 0


def bracket(all_levels: Sequence[int], tried: Mapping[int, float]) -> tuple[int, int]:
    """Indices of the highest level that holds below the lowest that does not, and of that one."""
    high = min((index for index, level in enumerate(all_levels) if tried.get(level, 0) > 1), default=len(all_levels))
    low = max((index for index, level in enumerate(all_levels[:high]) if tried.get(level, FAILED) <= 1), default=-1)
    return low, high


def _meeting(all_levels: Sequence[int], tried: Mapping[int, float], low: int, high: int, guess: int) -> float:
    """Where the limit is likely to be met."""
    below = (all_levels[low], max(tried[all_levels[low]], 1e-6)) if low >= 0 else None
    above = (all_levels[high], tried[all_levels[high]]) if high < len(all_levels) else None
    if above and above[1] == FAILED:
        above = None
        if below is None:
            return all_levels[high] / 2
    if below and above:
        slope = math.log(above[1] / below[1]) / math.log(above[0] / below[0])
        return below[0] * math.exp(-math.log(below[1]) / slope)
    if below:
        # Latency grows with the load at most in proportion, until something is full.
        return below[0] / below[1] if high == len(all_levels) else math.sqrt(below[0] * all_levels[high])
    if above:
        return above[0] / above[1]
    return guess or all_levels[len(all_levels) // 2]
