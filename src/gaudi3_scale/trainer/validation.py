# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Validation while a training goes on, and its end where that has stopped to help; the state is in each checkpoint."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass
from typing import Any

import lightning.pytorch as lightning
import torch

from gaudi3_scale.devices import end_lazy_graph
from gaudi3_scale.json_lines import WriteLine
from gaudi3_scale.models.language_model import next_token_loss
from gaudi3_scale.ranks import gather_reals
from gaudi3_scale.trainer.language_model_task import LanguageModelTask


@dataclass(frozen=True)
class Plan:
    """``batches`` held-out batches a rank each ``every`` steps, but for ``max_steps``: all trainings end with that one.

    ``patience`` is how many in a row may have no lower loss; None: any number.
    """

    every: int
    batches: int
    patience: int | None
    max_steps: int

    def due(self, step: int) -> bool:
        return bool(self.every and self.batches) and step % self.every == 0 and step != self.max_steps


class Validation(lightning.Callback):
    """Validates as planned, and ends the training where the plan's patience is used up. Collective.

    To stand before the callback that writes checkpoints, so that each has what its own step's validation found.
    """

    def __init__(self, plan: Plan, write: WriteLine) -> None:
        self._plan = plan
        self._write = write
        self._step = 0
        self._best: float | None = None
        self._best_step = 0
        self._without = 0

    @property
    def reason(self) -> str:
        """Why the training ends before its last step, or nothing."""
        patience = self._plan.patience
        if patience is None or self._without < patience:
            return ""
        return (
            f"--patience {patience}: as many validations in a row had no lower loss than "
            f"{self._best if self._best is None else round(self._best, 4)} at step {self._best_step}"
        )

    def state_dict(self) -> dict[str, Any]:
        return {"best": self._best, "best_step": self._best_step, "without": self._without}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._best, self._best_step = state_dict["best"], state_dict["best_step"]
        self._without = state_dict["without"]

    def on_train_start(self, trainer: lightning.Trainer, *_: object) -> None:
        self._step = trainer.global_step
        self._end_if_enough(trainer)

    def on_train_batch_end(self, trainer: lightning.Trainer, module: lightning.LightningModule, *_: object) -> None:
        step = trainer.global_step
        if step == self._step:
            return
        self._step = step
        if self._plan.due(step):
            assert isinstance(module, LanguageModelTask)
            self._validate(trainer, module)
            self._end_if_enough(trainer)

    def _validate(self, trainer: lightning.Trainer, task: LanguageModelTask) -> None:
        begun = time.perf_counter()
        loss = held_out_loss(trainer, task, self._plan.batches)
        if not math.isnan(loss) and (self._best is None or loss < self._best):
            self._best, self._best_step, self._without = loss, self._step, 0
        else:
            self._without += 1
        self._write(
            "validation",
            step=self._step,
            max_steps=self._plan.max_steps,
            validation_loss=loss,
            best_loss=self._best,
            best_step=self._best_step,
            seconds=round(time.perf_counter() - begun, 3),
        )

    def _end_if_enough(self, trainer: lightning.Trainer) -> None:
        """This step is then the last one, for the checkpoint too; a later run goes on where it has more patience."""
        if self.reason:
            trainer.fit_loop.epoch_loop.max_steps = trainer.global_step


@torch.no_grad()
def held_out_loss(trainer: lightning.Trainer, task: LanguageModelTask, batches: int) -> float:
    """Mean over the windows of all ranks, each with as many; nothing random is drawn. The same on every rank."""
    device = trainer.strategy.root_device
    total, windows = torch.zeros((), device=device), 0
    task.model.eval()
    try:
        for batch in itertools.islice(task.val_dataloader(), batches):
            with trainer.precision_plugin.val_step_context():
                total += len(batch) * next_token_loss(task.model, batch.to(device))
            end_lazy_graph(device)
            windows += len(batch)
    finally:
        task.model.train()
    everyones = gather_reals([float(total), float(windows)], device)
    return sum(row[0] for row in everyones) / sum(row[1] for row in everyones)
