# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How long the parts of a training step take on this rank (docs/following.md says what each of them means)."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Callable

import lightning.pytorch as lightning
import torch
from lightning.pytorch.profilers import Profiler
from torch.nn.parallel import DistributedDataParallel

from gaudi3_scale.devices import synchronize

DATA, FORWARD, BACKWARD, OPTIMISER, COMMUNICATION, OTHER = (
    "data",
    "forward",
    "backward",
    "optimiser",
    "communication",
    "other",
)
PARTS = (DATA, FORWARD, BACKWARD, OPTIMISER, COMMUNICATION, OTHER)
# What DDP is told of the steps whose communication nobody asks for; it takes the first ten of a run in any case.
NEVER = 1 << 30
# Steps over which a rank's own work is averaged.
BUSY_STEPS = 10
# Lightning's name for the wait for the next batch (loops/training_epoch_loop.py and loops/fetchers.py).
NEXT_BATCH = "[_TrainingEpochLoop].train_dataloader_next"


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


class BatchWait(Profiler):
    """Tells when Lightning begins to wait for a batch: no callback is asked there, a profiler is."""

    def __init__(self, waits: Callable[[], None]) -> None:
        super().__init__()
        self._waits = waits

    def start(self, action_name: str) -> None:
        if action_name == NEXT_BATCH:
            self._waits()

    def stop(self, action_name: str) -> None:
        """The callbacks know the end of the wait."""


class ClockedSteps(lightning.Callback):
    """Runs a clock along Lightning's hooks; to stand first among the callbacks, and to be the trainer's profiler too
    (``profiler=steps.profiler``)."""

    def __init__(self, clock: StepClock) -> None:
        self.profiler = BatchWait(self._waits)
        self._clock = clock
        self._trainer: lightning.Trainer | None = None
        self._begun = False
        self._stepped = False

    def on_train_start(self, trainer: lightning.Trainer, *_: object) -> None:
        self._trainer = trainer
        sample_communication(trainer.strategy.model, self._clock.each_step)

    def _waits(self) -> None:
        if self._trainer is None:
            return
        if self._begun:
            # A further batch of the same step (--accumulate).
            self._clock.lap(OTHER)
            return
        self._begun = True
        if self._clock.begin(self._trainer.global_step + 1):
            sample_communication(self._trainer.strategy.model, True)

    def on_train_batch_start(self, *_: object) -> None:
        self._clock.lap(DATA)

    def on_before_backward(self, *_: object) -> None:
        self._clock.lap(FORWARD)

    def on_after_backward(self, *_: object) -> None:
        self._clock.lap(BACKWARD)

    def on_before_optimizer_step(self, *_: object) -> None:
        self._clock.lap(OTHER)
        self._stepped = True

    def on_train_batch_end(self, trainer: lightning.Trainer, *_: object) -> None:
        if not self._stepped:
            self._clock.lap(OTHER)
            return
        self._begun = self._stepped = False
        if self._clock.measures:
            self._clock.lap(OPTIMISER)
            self._clock.end(communication_seconds(trainer.strategy.model))
            sample_communication(trainer.strategy.model, self._clock.each_step)


def sample_communication(model: Any, wanted: bool) -> None:
    """Let DDP time the communication of the next steps, or not."""
    if _has_timers(model):
        model._set_ddp_runtime_logging_sample_rate(1 if wanted else NEVER)


def communication_seconds(model: Any) -> float | None:
    """How long the last backward pass went on after its own work, waiting for gradients of other ranks.

    DDP's own timers (torch/csrc/distributed/c10d/logger.cpp): from the start of the first bucket's all-reduce to the
    end of the last, less what of it lay under the backward pass. None where nothing is timed: another strategy, or a
    device for which PyTorch has no such timer (it has them for CPU and CUDA).
    """
    if not _has_timers(model):
        return None
    model.logger.set_runtime_stats_and_log()
    times = model.logger._get_ddp_logging_data().ints_map
    whole = times.get("backward_comm_time", 0)
    return (whole - times.get("backward_compute_comm_overlap_time", 0)) / 1e9 if whole else None


def _has_timers(model: Any) -> bool:
    """DDP without its own reducer, as under torch.compile's python_reducer, has none."""
    return isinstance(model, DistributedDataParallel) and model.logger is not None
