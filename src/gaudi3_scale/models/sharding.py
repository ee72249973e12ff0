# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""FSDP2 of a model of blocks: each rank keeps its share of every weight, its gradient and its optimizer state."""

from __future__ import annotations

from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

DDP, FSDP2 = "ddp", "fsdp2"


def blocks(model: nn.Module) -> list[nn.Module]:
    """The layers that follow each other and make up most of the model: ``blocks`` of the built-in one, and of a Hugging
    Face model what it says must stay whole. None of either: the model is shared out in one piece."""
    own = getattr(model, "blocks", None)
    if isinstance(own, nn.ModuleList):
        return list(own)
    names = set(getattr(model, "_no_split_modules", None) or ())
    return [module for module in model.modules() if type(module).__name__ in names]


def fully_sharded(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    """The same model, shared out over ``mesh`` block by block, so that one block's weights are whole at a time."""
    if any(isinstance(parameter, DTensor) for parameter in model.parameters()):
        return model
    for block in blocks(model):
        fully_shard(block, mesh=mesh)
    # The module itself, which the type of what it returns does not say.
    return fully_shard(model, mesh=mesh)  # type: ignore[return-value]
