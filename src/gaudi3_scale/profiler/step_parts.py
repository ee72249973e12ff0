# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A step's time by what it was spent on, as marks along it tell; standard library only."""

from __future__ import annotations

import time
from typing import Callable

from gaudi3_scale.core._profile.records import PARTS, Step
from gaudi3_scale.profiler.run_queue import queued_seconds

DATA, FORWARD, BACKWARD, OPTIMIZER, COMPILE = PARTS
COMMUNICATION, HOST = "communication", "host"


class StepParts:
    """All time is some part's: of the innermost that has been entered and not left, or the host's between two.

    Who calls the model is not seen. What precedes a backward pass and follows the batch is the forward pass.
    """

    def __init__(
        self, now: Callable[[], float] = time.perf_counter, queued: Callable[[], float] = queued_seconds
    ) -> None:
        self._now = now
        self._queued = queued
        self._entered: list[str] = []
        self._begin()

    def _begin(self) -> None:
        self._spent: dict[str, float] = {}
        # Since the batch, by the part that it counts for until a backward pass follows.
        self._since_batch: dict[str, float] = {}
        self._start = self._mark = self._now()
        self._queued_before = self._queued()

    def enter(self, part: str) -> None:
        self._lap()
        if part == BACKWARD:
            for counted, seconds in self._since_batch.items():
                self._add(counted, -seconds)
                self._add(FORWARD, seconds)
        if part in (BACKWARD, DATA):
            self._since_batch = {}
        self._entered.append(part)

    def leave(self) -> None:
        self._lap()
        part = self._entered.pop() if self._entered else HOST
        if part in (BACKWARD, DATA):
            self._since_batch = {}

    def restart(self) -> None:
        """Leave out what has been since the last step."""
        self._entered.clear()
        self._begin()

    def take(self, seconds: float, source: str, part: str) -> None:
        """So much of what counted as ``source`` was ``part``, as something else tells now."""
        moved = min(seconds, max(0.0, self._spent.get(source, 0.0)))
        self._add(source, -moved)
        self._add(part, moved)

    def end(self, number: int, knows_waiting: bool, drain: float = 0.0, traced: bool = False) -> Step:
        """The step is over, and the next begins."""
        self._lap()
        parts = {part: max(0.0, self._spent.get(part, 0.0)) for part in PARTS}
        waited = self._spent.get(COMMUNICATION, 0.0) if knows_waiting else None
        queued = max(0.0, self._queued() - self._queued_before)
        step = Step(number, self._mark - self._start, parts, waited, drain, traced, queued)
        self._begin()
        return step

    def _lap(self) -> None:
        now = self._now()
        part = self._entered[-1] if self._entered else HOST
        spent, self._mark = now - self._mark, now
        self._add(part, spent)
        if part in (HOST, OPTIMIZER):
            self._since_batch[part] = self._since_batch.get(part, 0.0) + spent

    def _add(self, part: str, seconds: float) -> None:
        self._spent[part] = self._spent.get(part, 0.0) + seconds
