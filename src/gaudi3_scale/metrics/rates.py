# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How fast a run is, from the steps and times of its metric lines. Standard library only."""

from __future__ import annotations

from collections import deque

# Lines over which the time that is left is estimated, so that one slow line does not change it much.
ESTIMATE_LINES = 10


class Rates:
    """Seconds a step, from line to line. What was before the first line, as every start-up cost, is in none of them."""

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None
        self._recent: deque[tuple[int, float]] = deque(maxlen=ESTIMATE_LINES + 1)

    def add(self, step: int, now: float) -> float | None:
        """There is a line of ``step`` at ``now`` (seconds of one clock); seconds a step since the line before."""
        before = self._recent[-1] if self._recent else None
        self._recent.append((step, now))
        self._first = self._first or self._recent[0]
        return _seconds_a_step(before, self._recent[-1]) if before else None

    def whole(self) -> float | None:
        """Seconds a step from the first line to the last one."""
        return _seconds_a_step(self._first, self._recent[-1]) if self._first else None

    def seconds_left(self, max_steps: int) -> float | None:
        """Until ``max_steps``, by the last lines."""
        if not self._recent:
            return None
        each = _seconds_a_step(self._recent[0], self._recent[-1])
        return None if each is None else max(0, max_steps - self._recent[-1][0]) * each


def _seconds_a_step(start: tuple[int, float], end: tuple[int, float]) -> float | None:
    steps, seconds = end[0] - start[0], end[1] - start[1]
    return seconds / steps if steps > 0 and seconds > 0 else None
