# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What Lightning's trainer is given so that a run is seen while it goes on: metric lines, step times, progress file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Sequence

import lightning.pytorch as lightning
import torch

from gaudi3_scale.json_lines import WriteLine
from gaudi3_scale.metrics.clocked_steps import ClockedSteps
from gaudi3_scale.metrics.metric_lines import MetricLines
from gaudi3_scale.metrics.peak_memory import MemoryUse
from gaudi3_scale.metrics.step_clock import StepClock
from gaudi3_scale.metrics.step_work import StepWork
from gaudi3_scale.progress import ProgressFile


class ReportedProgress(lightning.Callback):
    """This rank's progress file, after each finished step that is due."""

    def __init__(self, progress: ProgressFile, clock: StepClock) -> None:
        self._progress = progress
        self._clock = clock
        self._step = 0

    def on_train_start(self, trainer: lightning.Trainer, *_: object) -> None:
        self._step = trainer.global_step

    def on_train_batch_end(self, trainer: lightning.Trainer, *_: object) -> None:
        if trainer.global_step != self._step and self._progress.due:
            self._step = trainer.global_step
            self._progress.done(self._step, self._clock.busy())

    def on_train_end(self, trainer: lightning.Trainer, *_: object) -> None:
        self._progress.done(trainer.global_step, self._clock.busy(), last=True)


@dataclass(frozen=True)
class Observation:
    """``metrics`` has the losses and rates of the run."""

    metrics: MetricLines
    steps: ClockedSteps
    progress: ReportedProgress

    def trainer_parts(self, *others: lightning.Callback) -> dict[str, Any]:
        """The arguments of Lightning's Trainer. The clock is first, so that no other callback counts as a part of a
        step; progress is told when all of them are done."""
        return {"callbacks": [self.steps, self.metrics, *others, self.progress], "profiler": self.steps.profiler}


def observe(
    device: torch.device,
    write: WriteLine,
    *,
    every: int,
    max_steps: int,
    work: StepWork,
    nodes: Sequence[str],
    memory: MemoryUse,
) -> Observation:
    """Lines every ``every`` steps; on cards the steps of these lines are the ones that are measured."""
    clock = StepClock(device, lambda step: step % every == 0)
    metrics = MetricLines(every, max_steps, work, write, clock=clock, nodes=nodes, memory=memory)
    return Observation(metrics, ClockedSteps(clock), ReportedProgress(ProgressFile.of_job(os.environ), clock))
