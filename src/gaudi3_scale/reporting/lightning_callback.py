# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Reports of Lightning's trainer: ``lightning.Trainer(…, callbacks=[LightningCallback()])``."""

from __future__ import annotations

import math
from typing import Any, Callable

import lightning.pytorch as lightning

from gaudi3_scale.metrics.step_clock import FORWARD, OPTIMIZER, OTHER, StepClock
from gaudi3_scale.reporting.steps import of_this_process


class LightningCallback(lightning.Callback):
    """Each rank's steps, and rank 0's loss, learning rate and speed.

    ``tokens`` and ``samples`` count those of a batch, as ``lambda batch: batch["input_ids"].numel()``; without either
    the time of a step is all that is known of the speed. Own work is the forward pass.
    """

    def __init__(
        self, *, tokens: Callable[[Any], int] | None = None, samples: Callable[[Any], int] | None = None
    ) -> None:
        self._counts = {name: count for name, count in (("tokens", tokens), ("samples", samples)) if count is not None}
        self._reports = of_this_process()
        self._clock: StepClock | None = None
        self._begun = False
        self._step = 0
        self._loss: Any = None
        self._learning_rate: float | None = None
        self._counted: dict[str, int] = {}

    def on_train_start(self, trainer: lightning.Trainer, _module: lightning.LightningModule) -> None:
        self._step = trainer.global_step
        if not self._reports.active:
            return
        self._clock = StepClock(trainer.strategy.root_device, lambda _step: self._reports.due)
        steps = trainer.estimated_stepping_batches
        self._reports.start(
            trainer.global_step,
            int(steps) if math.isfinite(steps) and steps > 0 else None,
            device=trainer.strategy.root_device.type,
            accumulate=trainer.accumulate_grad_batches,
        )

    def on_train_batch_start(self, trainer: lightning.Trainer, _module: object, batch: Any, _index: int) -> None:
        if self._clock is None:
            return
        self._count(batch)
        if self._begun:
            # A further batch of the same step.
            self._clock.lap(OTHER)
        else:
            self._begun = True
            self._clock.begin(trainer.global_step + 1)

    def _count(self, batch: Any) -> None:
        for name, count in list(self._counts.items()):
            try:
                self._counted[name] = self._counted.get(name, 0) + count(batch)
            except Exception as error:
                del self._counts[name]
                said = (
                    f"LightningCallback: {name} cannot count a batch ({type(error).__name__}: {error}); it is left out."
                )
                self._reports.say(name, said)

    def on_before_backward(self, *_: object) -> None:
        if self._clock is not None:
            self._clock.lap(FORWARD)

    def on_before_optimizer_step(self, _trainer: object, _module: object, optimizer: Any) -> None:
        # After the step the schedule has moved on to the next one's.
        self._learning_rate = optimizer.param_groups[0]["lr"]

    def on_train_batch_end(
        self, trainer: lightning.Trainer, _module: object, outputs: Any, _batch: Any, _index: int
    ) -> None:
        if self._clock is None:
            return
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if loss is not None:
            # Lightning has divided it by the number of accumulated batches.
            self._loss = loss.detach() if self._loss is None else self._loss + loss.detach()
        self._clock.lap(OTHER)
        if trainer.global_step == self._step:
            return
        self._step, self._begun = trainer.global_step, False
        if self._clock.measures:
            self._clock.lap(OPTIMIZER)
            self._clock.end(None)
        self._reports.report(
            self._step,
            loss=self._loss,
            **self._counted,
            learning_rate=self._learning_rate,
            busy_seconds=self._clock.busy(),
        )
        self._loss, self._counted = None, {}

    def on_train_end(self, *_: object) -> None:
        if self._clock is not None:
            self._reports.end()
