# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Workloads that the batch-size probe can run: a function that prepares training and returns one step of it.

The contract is in docs/training.md: ``step = function(batch_size=..., device=..., **options)``, then ``step()``.
"""

from __future__ import annotations

from typing import Callable

import torch

from gaudi3_scale.core.errors import GaudiError
from gaudi3_scale.language_model import VOCABULARY, ByteLanguageModel, ModelShape, next_byte_loss


def causal_language_model(
    batch_size: int,
    device: torch.device,
    layers: int = 4,
    width: int = 256,
    heads: int = 4,
    sequence_length: int = 256,
    precision: str = "bf16",
    learning_rate: float = 1e-3,
    clip: float = 1.0,
) -> Callable[[], None]:
    """One step of the model that ``gaudi3_scale.train`` trains, on random bytes: forward, backward, AdamW.

    ``precision`` is bf16 (autocast) or fp32, as for the trainer; memory does not depend on what the bytes are.
    """
    if precision not in ("bf16", "fp32"):
        raise GaudiError(f"precision {precision}: choose bf16 or fp32.")
    model = ByteLanguageModel(ModelShape(layers, width, heads, sequence_length)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    windows = torch.randint(VOCABULARY, (batch_size, sequence_length + 1), device=device)

    def step() -> None:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16"):
            loss = next_byte_loss(model, windows)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step
