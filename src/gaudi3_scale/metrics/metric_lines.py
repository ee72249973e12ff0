# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The job's progress as JSON lines (docs/follow.md lists the fields)."""

from __future__ import annotations

import time
from typing import Any, Sequence

import lightning.pytorch as lightning
import torch
from torch.distributed.tensor import DTensor

from gaudi3_scale.json_lines import WriteLine
from gaudi3_scale.metrics.memory_parts import StateBytes, memory_parts, state_bytes
from gaudi3_scale.metrics.peak_memory import MemoryUse
from gaudi3_scale.metrics.rank_readings import (
    Averages,
    Readings,
    as_numbers,
    by_node,
    from_numbers,
    mean_seconds,
    slowest,
)
from gaudi3_scale.metrics.rank_readings import reading as reading_of
from gaudi3_scale.metrics.rates import Rates
from gaudi3_scale.metrics.step_clock import StepClock
from gaudi3_scale.metrics.step_work import StepWork
from gaudi3_scale.ranks import gather_reals

# A line about all nodes at most this often: with many nodes it is long.
NODES_EVERY_S = 60.0


class MetricLines(lightning.Callback):
    """A line at the first step of this run, then at every ``every``-th step and at the last. Collective.

    ``loss`` is the mean over all ranks and all steps since the line before. ``tokens_per_second`` counts all ranks
    over the same steps; the first step, which holds every start-up cost, is in no rate. ``work`` is what a step does,
    ``nodes`` are the nodes' names in the order of their ranks, and ``memory`` reads that of this rank.
    """

    def __init__(
        self,
        every: int,
        max_steps: int,
        work: StepWork,
        write: WriteLine,
        *,
        clock: StepClock,
        nodes: Sequence[str],
        memory: MemoryUse,
    ) -> None:
        self._every = every
        self._max_steps = max_steps
        self._work = work
        self._write = write
        self._clock = clock
        self._nodes = nodes
        self._memory = memory
        self._state: StateBytes | None = None
        self._refused = False
        self._losses: torch.Tensor | float = 0.0
        self._rate_of_step = 0.0
        self._first_step = 0
        self._rates = Rates()
        self._line_step = 0
        self._averages = Averages()
        self._nodes_time = time.perf_counter()
        self.first_loss: float | None = None
        self.last_loss: float | None = None

    def state_dict(self) -> dict[str, Any]:
        return {"first_loss": self.first_loss, "last_loss": self.last_loss}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.first_loss = state_dict["first_loss"]
        self.last_loss = state_dict["last_loss"]

    def on_train_start(self, trainer: lightning.Trainer, *_: object) -> None:
        self._line_step = trainer.global_step
        self._first_step = trainer.global_step + 1
        self._losses = 0.0

    def on_before_optimizer_step(self, _trainer: object, _module: object, optimizer: torch.optim.Optimizer) -> None:
        # After the step the schedule has moved on to the next one's rate.
        self._rate_of_step = optimizer.param_groups[0]["lr"]

    def on_train_batch_end(self, trainer: lightning.Trainer, module: Any, outputs: Any, *_: object) -> None:
        # Lightning has divided the loss by the number of accumulated batches.
        self._losses = self._losses + outputs["loss"].detach().float()
        step = trainer.global_step
        due = step == self._first_step or step % self._every == 0 or step == trainer.max_steps
        if step > self._line_step and due:
            self._line(trainer, module, step)

    def on_train_end(self, *_: object) -> None:
        self._tell_nodes()

    def rate(self) -> float | None:
        """Tokens a second of all ranks, from the end of this run's first step to the last line."""
        each = self._rates.whole()
        return self._work.tokens / each if each else None

    def _line(self, trainer: lightning.Trainer, module: Any, step: int) -> None:
        steps = step - self._line_step
        readings = self._gather(trainer, steps)
        norm = norm_of(module)
        loss = sum(one.loss for one in readings) / len(readings)
        if self.first_loss is None:
            self.first_loss = loss
        self.last_loss = loss
        now = time.perf_counter()
        each = self._rates.add(step, now)
        left = self._rates.seconds_left(self._max_steps)
        parts = mean_seconds(readings)
        share, refused = self._work.share_of_peak(each)
        self._write(
            "step",
            step=step,
            max_steps=self._max_steps,
            loss=loss,
            gradient_norm=norm,
            **self._work.rates(each, len(readings)),
            **share,
            seconds_left=left and round(left, 1),
            ends_at=None if left is None else round(time.time() + left),
            lr=self._rate_of_step,
            seconds={
                "step": each and round(each, 7),
                **(parts if each else dict.fromkeys(parts)),
            },
            **self._used(trainer, module, readings),
            **self._work.counted(),
            slowest=slowest(readings, self._nodes) if each else None,
        )
        self._refuse_once(refused)
        self._line_step, self._losses = step, 0.0
        if each:
            self._averages.add(readings, steps)
            if now - self._nodes_time >= NODES_EVERY_S:
                self._tell_nodes()

    def _gather(self, trainer: lightning.Trainer, steps: int) -> Readings:
        busy = self._clock.busy()
        mine = reading_of(float(self._losses) / steps, self._memory, busy, self._clock.take())
        return [from_numbers(row) for row in gather_reals(as_numbers(mine), trainer.strategy.root_device)]

    def _used(self, trainer: lightning.Trainer, module: Any, readings: Readings) -> dict[str, object]:
        """The memory of the fullest rank; each has as much of the model's state."""
        if self._state is None:
            self._state = state_bytes(module, trainer.optimizers[0])
        fullest = max(readings, key=lambda one: one.memory)
        parts = memory_parts(self._state, fullest.in_use, fullest.memory)
        return {"memory_bytes": int(fullest.memory), "memory_parts": parts}

    def _refuse_once(self, reason: str) -> None:
        if reason and not self._refused:
            self._write("warning", message=reason)
            self._refused = True

    def _tell_nodes(self) -> None:
        if self._averages.steps:
            steps = self._averages.steps
            self._write("nodes", step=self._line_step, steps=steps, nodes=by_node(self._averages.take(), self._nodes))
            self._nodes_time = time.perf_counter()


def norm_of(module: Any) -> float:
    """Of the gradients of the last step before they were clipped; where nothing clips them they are there still.

    Collective where they are shared out (FSDP2).
    """
    norm = getattr(module, "gradient_norm", None)
    if norm is None:
        gradients = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
    return round(float(norm.full_tensor() if isinstance(norm, DTensor) else norm), 6)
