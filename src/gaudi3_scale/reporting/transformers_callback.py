# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Reports of Hugging Face's Trainer: ``Trainer(…, callbacks=[TransformersCallback()])``."""

from __future__ import annotations

from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from gaudi3_scale.metrics.step_clock import FORWARD, OPTIMIZER, OTHER, StepClock
from gaudi3_scale.reporting.steps import of_this_process


class TransformersCallback(TrainerCallback):
    """Each rank's steps, and rank 0's losses as the Trainer logs them (``logging_steps``): the mean over the ranks.

    Own work is the model's forward pass. It is not measured with ``torch_compile``, which a hook would disturb.
    """

    def __init__(self) -> None:
        self._reports = of_this_process()
        self._clock: StepClock | None = None
        self._hooks: list[Any] = []
        self._in_step = False
        self._learning_rate: float | None = None
        self._tokens_seen = 0

    # Transformers gives the first three by position: those that are not used need not have its names.
    def on_train_begin(  # type: ignore[override]
        self, args: TrainingArguments, state: TrainerState, _control: TrainerControl, model: Any = None, **_: Any
    ) -> None:
        if not self._reports.active:
            return
        self._tokens_seen = int(state.num_input_tokens_seen or 0)
        self._reports.start(
            state.global_step,
            state.max_steps,
            device=args.device.type,
            batch_size=args.train_batch_size,
            accumulate=args.gradient_accumulation_steps,
        )
        if isinstance(model, torch.nn.Module) and not args.torch_compile:
            self._clock = StepClock(args.device, lambda _step: self._reports.due)
            self._hooks = [
                model.register_forward_pre_hook(lambda *_: self._lap(OTHER)),
                model.register_forward_hook(lambda *_: self._lap(FORWARD)),
            ]

    def _lap(self, part: str) -> None:
        # The Trainer evaluates with the same model.
        if self._in_step and self._clock is not None:
            self._clock.lap(part)

    def on_step_begin(  # type: ignore[override]
        self, _args: TrainingArguments, state: TrainerState, *_: Any, **__: Any
    ) -> None:
        self._in_step = True
        if self._clock is not None:
            self._clock.begin(state.global_step + 1)

    def on_pre_optimizer_step(self, *_: Any, optimizer: Any = None, **__: Any) -> None:
        # After the step the schedule has moved on to the next one's.
        self._learning_rate = optimizer.param_groups[0]["lr"] if optimizer is not None else None

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if not self._reports.active:
            return
        self._in_step = False
        if self._clock is not None and self._clock.measures:
            self._clock.lap(OPTIMIZER)
            self._clock.end(None)
        if not control.should_log:
            # Else on_log follows at once, with the loss.
            self._report(args, state)

    def on_log(
        self, args: TrainingArguments, state: TrainerState, *_: Any, logs: dict[str, Any] | None = None, **__: Any
    ) -> None:
        if self._reports.active and logs and "loss" in logs:
            self._report(args, state, logs["loss"], logs.get("grad_norm"))

    def _report(self, args: TrainingArguments, state: TrainerState, loss: object = None, norm: object = None) -> None:
        samples = args.train_batch_size * args.gradient_accumulation_steps
        # All ranks' (include_num_input_tokens_seen); as each rank reports its own, a share of it.
        seen = int(state.num_input_tokens_seen or 0)
        tokens, self._tokens_seen = (seen - self._tokens_seen) / args.world_size, seen
        self._reports.report(
            state.global_step,
            loss=loss,
            samples=samples,
            tokens=tokens if seen else None,
            learning_rate=self._learning_rate,
            busy_seconds=None if self._clock is None else self._clock.busy(),
            gradient_norm=norm,
        )

    def on_save(self, args: TrainingArguments, state: TrainerState, *_: Any, **__: Any) -> None:
        self._reports.tell("checkpoint", step=state.global_step, path=str(args.output_dir))

    def on_evaluate(  # type: ignore[override]
        self, _args: TrainingArguments, state: TrainerState, *_: Any, metrics: dict[str, Any] | None = None, **__: Any
    ) -> None:
        reported = {name: value for name, value in (metrics or {}).items() if isinstance(value, (int, float))}
        self._reports.tell("evaluation", step=state.global_step, **reported)

    def on_train_end(self, *_: Any, **__: Any) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        if self._reports.active:
            self._reports.end()
