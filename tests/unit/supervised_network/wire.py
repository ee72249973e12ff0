# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A network that loses, delays, repeats and reorders what it carries, and can be cut in any way."""

from __future__ import annotations

import heapq
from random import Random

REPEATED = 0.02
# Of a delay with a tail: how many there are of these, and how many times as late as the others they come.
LATE, LATER = 0.02, 30.0


class Wire:
    """Times are the simulation's, in seconds.

    ``delay``: the mean of an exponential one; ``tails``: some come far later. ``lag``: what is added to all of it;
    ``lags`` the same by pair. ``loss`` and ``losses``: the share that is lost. ``cut``: pairs (from, to).
    """

    def __init__(self, dice: Random, delay: float = 0.05, loss: float = 0.0) -> None:
        self._dice = dice
        self.delay, self.loss = delay, loss
        self.tails = False
        self.lag = 0.0
        self.lags: dict[tuple[int, int], float] = {}
        self.losses: dict[tuple[int, int], float] = {}
        self.cut: set[tuple[int, int]] = set()
        self._held: list[tuple[float, int, int, int, object]] = []
        self._count = 0

    def send(self, now: float, source: int, target: int, what: object) -> None:
        pair, dice = (source, target), self._dice
        if pair in self.cut:
            return
        for _copy in range(2 if dice.random() < REPEATED else 1):
            if dice.random() < self.losses.get(pair, self.loss):
                continue
            late = self.lags.get(pair, self.lag)
            if self.delay:
                late += dice.expovariate(1 / self.delay) * (LATER if self.tails and dice.random() < LATE else 1.0)
            self._count += 1
            heapq.heappush(self._held, (now + late, self._count, source, target, what))

    def arrived(self, now: float) -> list[tuple[int, int, object]]:
        """(from, to, what) of all that has come by now, in that order."""
        found = []
        while self._held and self._held[0][0] <= now:
            _at, _number, source, target, what = heapq.heappop(self._held)
            found.append((source, target, what))
        return found

    def mend(self) -> None:
        """All links are whole, and as they were at first."""
        self.cut.clear()
        self.lags.clear()
        self.losses.clear()
