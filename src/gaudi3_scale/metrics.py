# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The job's progress as JSON lines (docs/training.md lists the fields)."""

from __future__ import annotations

import time
from typing import Any

import lightning.pytorch as lightning
import torch

from gaudi3_scale.json_lines import WriteLine


class MetricLines(lightning.Callback):
    """A line at the first step of this run, then at every ``every``-th step and at the last.

    ``loss`` is the mean over all ranks and all steps since the line before. ``tokens_per_second`` counts all ranks
    over the same steps; the first step, which holds every start-up cost, is in no rate.
    """

    def __init__(self, every: int, max_steps: int, tokens_per_step: int, write: WriteLine) -> None:
        self._every = every
        self._max_steps = max_steps
        self._tokens_per_step = tokens_per_step
        self._write = write
        self._losses: torch.Tensor | float = 0.0
        self._line_step = 0
        self._line_time = 0.0
        self._rate_of_step = 0.0
        self._first = (0, 0.0)
        self.first_loss: float | None = None
        self.last_loss: float | None = None

    def state_dict(self) -> dict[str, Any]:
        return {"first_loss": self.first_loss, "last_loss": self.last_loss}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.first_loss = state_dict["first_loss"]
        self.last_loss = state_dict["last_loss"]

    def on_train_start(self, trainer: lightning.Trainer, *_: object) -> None:
        self._line_step = trainer.global_step
        self._first = (trainer.global_step + 1, 0.0)
        self._losses = 0.0

    def on_before_optimizer_step(self, _trainer: object, _module: object, optimizer: torch.optim.Optimizer) -> None:
        # After the step the schedule has moved on to the next one's rate.
        self._rate_of_step = optimizer.param_groups[0]["lr"]

    def on_train_batch_end(self, trainer: lightning.Trainer, _module: object, outputs: Any, *_: object) -> None:
        # Lightning has divided the loss by the number of accumulated batches.
        self._losses = self._losses + outputs["loss"].detach().float()
        step = trainer.global_step
        first_step = self._first[0]
        if step > self._line_step and (step == first_step or step % self._every == 0 or step == trainer.max_steps):
            self._line(trainer, step)

    def rate(self) -> float | None:
        """Tokens a second of all ranks, from the end of this run's first step to the last line."""
        steps = self._line_step - self._first[0]
        return steps * self._tokens_per_step / (self._line_time - self._first[1]) if steps > 0 else None

    def _line(self, trainer: lightning.Trainer, step: int) -> None:
        steps = step - self._line_step
        loss = float(trainer.strategy.reduce(self._losses / steps, reduce_op="mean"))
        now = time.perf_counter()
        if self.first_loss is None:
            self.first_loss = loss
        self.last_loss = loss
        is_first = step == self._first[0]
        if is_first:
            self._first = (step, now)
        seconds = None if is_first else (now - self._line_time) / steps
        self._write(
            "step",
            step=step,
            max_steps=self._max_steps,
            loss=loss,
            tokens_per_second=self._tokens_per_step / seconds if seconds else None,
            seconds_left=(self._max_steps - step) * seconds if seconds else None,
            lr=self._rate_of_step,
        )
        self._line_step, self._line_time, self._losses = step, now, 0.0
