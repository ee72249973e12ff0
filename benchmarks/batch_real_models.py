# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Three small models in PyTorch, with a memory limit each, for ``benchmarks/batch_real.py``: the same work for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from gaudi3_scale.models.language_model import BYTE_VOCABULARY, LanguageModel, ModelShape, next_token_loss

MIB = 1 << 20
ROWS, WIDTH, DEPTH = 16, 256, 16
CHANNELS, PIXELS, CLASSES = 16, 64, 10
SHAPE = ModelShape(layers=2, width=64, heads=4, sequence_length=128)
# So much that what a process has more or less by chance, half a mebibyte, does not move the limit by a per cent.
MEMORY = 256 * MIB

Batch = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Kind:
    """``memory_limit`` bytes stand for the card."""

    memory_limit: int
    model: Callable[[], nn.Module]
    batch: Callable[[int], Batch]
    loss: Callable[[nn.Module, Batch], torch.Tensor]
    optimizer: Callable[[nn.Module], torch.optim.Optimizer]


def _perceptron() -> nn.Module:
    layers = [layer for _ in range(DEPTH) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    return nn.Sequential(*layers)


def _convolutional() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, CHANNELS, 3, padding=1),
        nn.BatchNorm2d(CHANNELS),
        nn.ReLU(),
        nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1),
        nn.BatchNorm2d(CHANNELS),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(CHANNELS, 2 * CHANNELS, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2 * CHANNELS, CLASSES),
    )


KINDS = {
    "perceptron": Kind(
        memory_limit=MEMORY // 2,
        model=_perceptron,
        batch=lambda size: (torch.randn(size, ROWS, WIDTH),),
        loss=lambda model, batch: model(batch[0]).square().mean(),
        optimizer=lambda model: torch.optim.AdamW(model.parameters()),
    ),
    "convolutional": Kind(
        memory_limit=MEMORY,
        model=_convolutional,
        batch=lambda size: (torch.randn(size, 3, PIXELS, PIXELS), torch.randint(CLASSES, (size,))),
        loss=lambda model, batch: functional.cross_entropy(model(batch[0]), batch[1]),
        optimizer=lambda model: torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
    ),
    "language": Kind(
        memory_limit=MEMORY,
        model=lambda: LanguageModel(SHAPE),
        batch=lambda size: (torch.randint(BYTE_VOCABULARY, (size, SHAPE.sequence_length + 1)),),
        loss=lambda model, batch: next_token_loss(model, batch[0]),
        optimizer=lambda model: torch.optim.AdamW(model.parameters()),
    ),
}


def training(batch_size: int, device: torch.device, kind: str) -> Callable[[], torch.Tensor]:
    """The workload: one step of the model ``kind``, on one batch made beforehand."""
    chosen = KINDS[kind]
    model = chosen.model().to(device)
    optimizer = chosen.optimizer(model)
    batch = tuple(part.to(device) for part in chosen.batch(batch_size))

    def step() -> torch.Tensor:
        loss = chosen.loss(model, batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step
