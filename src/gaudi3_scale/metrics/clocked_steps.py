# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of a step as Lightning's trainer goes through them, with the time that DDP waits for other ranks."""

from __future__ import annotations

from typing import Any, Callable

import lightning.pytorch as lightning
import torch
from lightning.pytorch.profilers import Profiler
from torch.nn.parallel import DistributedDataParallel

from gaudi3_scale.metrics.exposed_communication import ExposedCommunication, exposed_communication
from gaudi3_scale.metrics.step_clock import BACKWARD, DATA, FORWARD, OPTIMIZER, OTHER, StepClock

# What DDP is told of the steps whose communication nobody asks for; it takes the first ten of a run in any case.
NEVER = 1 << 30
# Lightning's name for the wait for the next batch (loops/training_epoch_loop.py and loops/fetchers.py).
NEXT_BATCH = "[_TrainingEpochLoop].train_dataloader_next"


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
        self._exposed: ExposedCommunication | None = None

    def on_train_start(self, trainer: lightning.Trainer, *_: object) -> None:
        self._trainer = trainer
        self._exposed = exposed_communication(trainer.strategy.root_device, trainer.strategy.model)
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

    def on_before_backward(self, _trainer: object, _module: object, loss: torch.Tensor) -> None:
        self._clock.lap(FORWARD)
        if self._exposed and self._clock.measures:
            self._exposed.watch(loss)

    def on_after_backward(self, *_: object) -> None:
        if self._exposed and self._clock.measures:
            self._exposed.over()
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
            self._clock.lap(OPTIMIZER)
            self._clock.end(self._communication(trainer.strategy.model))
            sample_communication(trainer.strategy.model, self._clock.each_step)

    def _communication(self, model: Any) -> float | None:
        return self._exposed.seconds() if self._exposed else communication_seconds(model)


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
