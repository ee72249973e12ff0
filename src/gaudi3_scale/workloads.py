# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Workloads that the batch-size probe can run: a function that prepares training and returns one step of it.

The contract is in docs/training.md: ``step = function(batch_size=..., device=..., **options)``, then ``step()``.
"""

from __future__ import annotations

import os
from typing import Any, Callable

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.devices import compile_backend
from gaudi3_scale.gaudi.optimizer import fused_adamw
from gaudi3_scale.models.language_model import BYTE_VOCABULARY, LanguageModel, ModelShape, next_token_loss
from gaudi3_scale.models.sharding import fully_sharded
from gaudi3_scale.ranks import join, ranks_from
from gaudi3_scale.trainer.gradient_compression import communication_hook

CHOICES = {
    "precision": ("bf16", "fp32"),
    "sharding": ("none", "ddp", "fsdp2"),
    "gradient_compression": ("none", "fp16", "bf16", "powersgd"),
}


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
    accumulation: int = 1,
    checkpointing: bool = False,
    sharding: str = "none",
    compile: bool = False,  # noqa: A002  the name that PyTorch and its users have for it
    vocabulary: int = BYTE_VOCABULARY,
    gradient_compression: str = "none",
) -> Callable[[], torch.Tensor]:
    """One step of the model that ``gaudi3_scale.train`` trains, on random tokens: forward, backward, AdamW.

    ``precision`` is bf16 (autocast) or fp32, as for the trainer. A step is ``accumulation`` batches of ``batch_size``.
    ``checkpointing`` computes activations anew in the backward pass. ``sharding`` over the ranks of the trial: none,
    ddp, or fsdp2 (parameters, gradients and optimizer state shared out). ``vocabulary`` is how many tokens there are:
    the logits grow with it; which tokens come does not matter to the memory. ``gradient_compression`` is of what ddp
    sends: none, fp16, bf16 or powersgd.
    """
    given = {"precision": precision, "sharding": sharding, "gradient_compression": gradient_compression}
    for option, value in given.items():
        if value not in CHOICES[option]:
            raise GaudiError(f"{option} {value}: choose {' or '.join(CHOICES[option])}.")
    if gradient_compression != "none" and sharding != "ddp":
        raise GaudiError(f"gradient_compression {gradient_compression} is of what ddp sends; set sharding to ddp too.")
    if accumulation < 1:
        raise GaudiError(f"accumulation is {accumulation}; give at least 1.")
    if vocabulary < 2:
        raise GaudiError(f"vocabulary is {vocabulary}; give at least 2 tokens.")
    model = LanguageModel(ModelShape(layers, width, heads, sequence_length, vocabulary), checkpointing).to(device)
    shared = _sharded(model, sharding, device, gradient_compression)
    trained = _compiled(shared, device) if compile else shared
    optimizer = fused_adamw(trained.parameters(), lr=learning_rate)
    windows = torch.randint(vocabulary, (batch_size, sequence_length + 1), device=device)

    def step() -> torch.Tensor:
        total = torch.zeros((), device=device)
        for number in range(accumulation):
            _exchange_gradients(trained, number == accumulation - 1)
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16"):
                loss = next_token_loss(trained, windows) / accumulation
            loss.backward()
            total += loss.detach()
        torch.nn.utils.clip_grad_norm_(trained.parameters(), clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return total

    return step


def _sharded(model: LanguageModel, sharding: str, device: torch.device, compression: str) -> nn.Module:
    """Joins the process group of the trial's ranks where there is something to share."""
    if sharding == "none":
        return model
    if not torch.distributed.is_initialized():
        join(ranks_from(os.environ), device)
    if sharding == "ddp":
        parallel = DistributedDataParallel(model, gradient_as_bucket_view=True)
        if hook := communication_hook(compression):
            parallel.register_comm_hook(hook.get("ddp_comm_state"), hook["ddp_comm_hook"])
        return parallel
    mesh = torch.distributed.init_device_mesh(device.type, (torch.distributed.get_world_size(),))
    return fully_sharded(model, mesh)


def _compiled(model: nn.Module, device: torch.device) -> nn.Module:
    # Of a module it makes a module, which its type does not say.
    return torch.compile(model, backend=compile_backend(device.type))  # type: ignore[return-value]


def _exchange_gradients(model: nn.Module, now: bool) -> None:
    """Among the ranks only after the last batch of a step, as trainers do."""
    inner: Any = getattr(model, "_orig_mod", model)
    if isinstance(inner, DistributedDataParallel):
        inner.require_backward_grad_sync = now
    elif hasattr(inner, "set_requires_gradient_sync"):
        inner.set_requires_gradient_sync(now)
