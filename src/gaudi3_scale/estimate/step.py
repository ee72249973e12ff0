# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One step of the built-in trainer on tensors without contents: what it keeps beside the model's own state."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Callable, Iterator
from unittest import mock

import torch
from torch import nn

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.estimate.live_tensors import Shapes
from gaudi3_scale.gaudi.optimizer import fused_adamw
from gaudi3_scale.models.language_model import next_token_loss
from gaudi3_scale.models.sharding import FSDP2

CLIP = 1.0


class TracedModel:
    """A model that ``build`` makes, with gradients and AdamW's state, as it is in the midst of a training.

    Gradients are there all the time, as in DDP, whose buckets stay. Raises GaudiError from :meth:`activations` where
    the model reads what its tensors contain.
    """

    def __init__(self, build: Callable[[], nn.Module], sequence_length: int, precision: str, sharding: str) -> None:
        self._shapes, self._length = Shapes(), sequence_length
        # Of weights that FSDP2 lets go again, autocast keeps no copy for the next one who asks.
        self._autocast = {"enabled": precision == "bf16", "cache_enabled": sharding != FSDP2}
        self._known: dict[int, int] = {}
        with self._shapes() as live:
            self.model = build()
            for parameter in self.model.parameters():
                parameter.grad = torch.zeros_like(parameter)
            self._optimizer = fused_adamw(self.model.parameters())
            self._optimizer.step()
            self._resting = live.live

    def activations(self, batch_size: int) -> int:
        """The most bytes of a step beside weights, gradients and optimizer state; the batch itself is among them."""
        if batch_size not in self._known:
            try:
                self._known[batch_size] = self._step(batch_size) - self._resting
            # Whatever PyTorch raises where a shape depends on a value: it has a type for each way.
            except Exception as error:
                said = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
                raise GaudiError(
                    f"the activations of {type(self.model).__name__} do not follow from its shapes ({said[:150]}); the "
                    "batch-size probe measures them."
                ) from error
        return self._known[batch_size]

    def _step(self, batch_size: int) -> int:
        with self._shapes() as live, _one_text_a_window():
            live.forget_peak()
            windows = torch.zeros((batch_size, self._length + 1), dtype=torch.int64)
            with torch.autocast("cpu", dtype=torch.bfloat16, **self._autocast):
                loss = next_token_loss(self.model, windows)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
            self._optimizer.step()
            return live.peak


@contextmanager
def _one_text_a_window() -> Iterator[None]:
    """transformers reads from the positions whether a window has several texts; it cannot where nothing has a value,
    and would make a mask for them. The trainer's windows have one."""
    masks = sys.modules.get("transformers.masking_utils")
    if hasattr(masks, "find_packed_sequence_indices"):
        with mock.patch.object(masks, "find_packed_sequence_indices", lambda *_given, **_named: None):
            yield
    else:
        yield
