# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How long the parts of a training step take on this rank (docs/follow.md says what each of them means)."""

from __future__ import annotations

import time
from collections import deque
from typing import Callable

import torch

from gaudi3_scale.devices import synchronize

DATA, FORWARD, BACKWARD, OPTIMIZER, COMMUNICATION, OTHER = (
    "data",
    "forward",
    "backward",
    "optimizer",
    "communication",
    "other",
)
PARTS = (DATA, FORWARD, BACKWARD, OPTIMIZER, COMMUNICATION, OTHER)
# Steps over which a rank's own work is averaged.
BUSY_STEPS = 10


class StepClock:
    """Laps between the parts of a step, summed over the measured steps until they are taken.

    On the CPU each step is measured, and the laps add up to all the time there is. Another device computes while the
    host goes on, so that a lap has to wait for it: only steps for which ``wanted(step)`` holds are measured there.
    """

    def __init__(
        self,
        device: torch.device,
        wanted: Callable[[int], bool],
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._device = device
        self._wanted = wanted
        self._now = now
        self._each = device.type == "cpu"
        self._measures = False
        self._time = 0.0
        self._step: dict[str, float] = {}
        self._communication_known = True
        # The first step holds every start-up cost, as graphs that are compiled, which differ from rank to rank.
        self._warm = False
        self._busy: deque[float] = deque(maxlen=BUSY_STEPS)
        self._forget()

    @property
    def each_step(self) -> bool:
        return self._each

    @property
    def measures(self) -> bool:
        """Whether the present step is measured."""
        return self._measures

    def begin(self, step: int) -> bool:
        """The step with this number is about to fetch its first batch; True where it is measured."""
        if self._each and self._measures:
            # What came since the last lap is whatever was done between two steps: lines, checkpoints.
            self.lap(OTHER)
            return True
        self._measures = self._each or self._wanted(step)
        if self._measures:
            self._time = self._stop_watch()
        return self._measures

    def lap(self, part: str) -> None:
        """What was done since the last lap was this part."""
        if self._measures:
            now = self._stop_watch()
            self._step[part] = self._step.get(part, 0.0) + now - self._time
            self._time = now

    def end(self, communication: float | None) -> None:
        """The step is done. ``communication`` are those seconds of its backward part that were spent waiting."""
        if not self._measures:
            return
        step, self._step = self._step, {}
        if communication is None:
            self._communication_known = False
        else:
            waited = min(communication, step.get(BACKWARD, 0.0))
            step[COMMUNICATION], step[BACKWARD] = waited, step.get(BACKWARD, 0.0) - waited
        if self._warm:
            self._busy.append(step.get(DATA, 0.0) + step.get(FORWARD, 0.0))
        self._warm = True
        for part, seconds in step.items():
            self._sums[part] = self._sums.get(part, 0.0) + seconds
        self._steps += 1
        self._measures = self._each

    def busy(self) -> float | None:
        """Mean seconds a step of data and forward, in which a rank waits for no other, over the last few steps."""
        return sum(self._busy) / len(self._busy) if self._busy else None

    def take(self) -> dict[str, float | None]:
        """Mean seconds a step of each part since the last call; None where it is not known."""
        means: dict[str, float | None] = {
            part: self._sums.get(part, 0.0) / self._steps if self._steps else None for part in PARTS
        }
        if not self._communication_known:
            means[COMMUNICATION] = None
        if not self._each:
            means[OTHER] = None
        self._forget()
        return means

    def _forget(self) -> None:
        self._sums: dict[str, float] = {}
        self._steps = 0

    def _stop_watch(self) -> float:
        synchronize(self._device)
        return self._now()
