# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a rank's memory is used for: of the model's state each part, what a step takes on top, and the rest."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Iterable

import torch
from torch import nn
from torch.distributed.tensor import DTensor


@dataclass(frozen=True)
class StateBytes:
    """This rank's own, which with FSDP2 are its shares."""

    weights: int
    gradients: int
    optimizer: int


def state_bytes(model: nn.Module, optimizer: torch.optim.Optimizer) -> StateBytes:
    """As they are between two steps; nothing is read from the device."""
    parameters = list(model.parameters())
    return StateBytes(
        weights=_bytes([*parameters, *model.buffers()]),
        gradients=_bytes(parameter.grad for parameter in parameters if parameter.grad is not None),
        optimizer=_bytes(
            value for state in optimizer.state.values() for value in state.values() if isinstance(value, torch.Tensor)
        ),
    )


def memory_parts(state: StateBytes, in_use: float, peak: float) -> dict[str, int]:
    """In bytes. ``in_use`` is what there is between two steps and ``peak`` the most there was: what lies between
    them, a step needed for its activations."""
    known = asdict(state)
    return {
        **known,
        "activations": max(0, int(peak - in_use)),
        "rest": max(0, int(in_use) - sum(known.values())),
    }


def _bytes(tensors: Iterable[torch.Tensor]) -> int:
    return sum((tensor.to_local() if isinstance(tensor, DTensor) else tensor).nbytes for tensor in tensors)
