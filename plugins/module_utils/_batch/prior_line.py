# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A line, and the steps beside it, from the memory that shapes tell of single batch sizes; pure."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Callable

from .memory_model import Prior

# Far enough apart, and large enough, for what a sample takes.
SIZES = (1024, 4096)
# The longest step that is looked for, in samples.
LONGEST = 256
# Batches grow sample by sample where the last one takes this part of what one takes on average, and not more than this.
SMOOTH = (0.5, 1.5)
# A curve bends where the last sample takes less than this part. It is told by its line just below the size that fits,
# which takes some rounds to find.
STRAIGHT = 0.97
BELOW = 8
ROUNDS = 6
SETTLED = 0.1


def line_of(peak: Callable[[int], float], memory: float | None, uncertainty: float = 0.0) -> Prior:
    """``peak`` gives the bytes of a step by its batch size. ``memory`` is what a card has; None: not known."""
    told = lru_cache(maxsize=None)(peak)
    small, large = SIZES
    sample = (told(large) - told(small)) / (large - small)
    last = told(small) - told(small - 1)
    if sample > 0 and not SMOOTH[0] * sample <= last <= SMOOTH[1] * sample:
        found = _steps(told, small)
        if found is not None:
            return _in_steps(told, found, uncertainty)
    static = told(small) - small * sample
    bends = static < 0 or SMOOTH[0] * sample <= last < STRAIGHT * sample
    line = Prior(max(static, 0.0), sample, uncertainty, bends=bends)
    return line if memory is None or not bends else _around(told, memory, line)


def _in_steps(told: Callable[[int], float], found: tuple[int, int], uncertainty: float) -> Prior:
    period, offset = found
    small, large = (size // period * period for size in SIZES)
    sample = (told(large - offset) - told(small - offset)) / (large - small)
    return Prior(max(told(small - offset) - small * sample, 0.0), sample, uncertainty, period, offset)


def _steps(told: Callable[[int], float], size: int) -> tuple[int, int] | None:
    """The period and the offset of steps around ``size``, from where two of them end."""
    end = _end_below(told, size)
    before = None if end is None else _end_below(told, end)
    if end is None or before is None:
        return None
    period = end - before
    return (period, -end % period) if period > 1 else None


def _end_below(told: Callable[[int], float], size: int) -> int | None:
    """The largest size below ``size`` that takes less memory; None where it is too far away."""
    least = max(size - LONGEST, 1)
    if told(least) >= told(size):
        return None
    low, high = least, size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if told(middle) < told(size) else (low, middle)
    return low


def _around(told: Callable[[int], float], memory: float, line: Prior) -> Prior:
    size = max(line.fits(memory), 2.0)
    for _round in range(ROUNDS):
        large = max(min(math.floor(size), SIZES[1]), 2)
        small = large - max(large // BELOW, 1)
        sample = max((told(large) - told(small)) / (large - small), 1.0)
        line = replace(line, static_bytes=told(large) - large * sample, bytes_per_sample=sample)
        following = max((memory - line.static_bytes) / sample, 2.0)
        if abs(following - size) <= SETTLED * size:
            break
        size = following
    return line
