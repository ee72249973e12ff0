# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""FSDP2 of a model of blocks: each rank keeps its share of every weight, its gradient and its optimizer state."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

import torch
import torch.distributed
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
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


@contextlib.contextmanager
def weights_without_contents() -> Iterator[None]:
    """What is built in here has parameters that take no memory; buffers, which are computed, are as ever."""
    register = nn.Module.register_parameter

    def registered(module: nn.Module, name: str, param: nn.Parameter | None) -> None:
        # One that two modules share has no contents any more when the second gets it, and stays one.
        if param is not None and not param.is_meta:
            param = nn.Parameter(param.detach().to("meta"), param.requires_grad)
        register(module, name, param)

    owner: Any = nn.Module
    owner.register_parameter = registered
    try:
        yield
    finally:
        owner.register_parameter = register


def shared_out_from_first(model: nn.Module, mesh: DeviceMesh, device: torch.device) -> nn.Module:
    """The same model as the first rank's, shared out over ``mesh``: every other rank's is of
    :func:`weights_without_contents`, and gets its share of one weight after the other. Collective."""
    if any(isinstance(parameter, DTensor) for parameter in model.parameters()):
        return model
    whole = model.state_dict() if torch.distributed.get_rank() == 0 else {}
    fully_sharded(model, mesh)
    _make_room(model, device)
    set_model_state_dict(model, whole, options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True))
    return model


def _make_room(model: nn.Module, device: torch.device) -> None:
    """For the parameters that take no memory yet. Two modules that share one still do."""
    owners: dict[nn.Parameter, list[tuple[nn.Module, str]]] = {}
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False, remove_duplicate=False):
            if parameter.is_meta:
                owners.setdefault(parameter, []).append((module, name))
    for parameter, places in owners.items():
        made = nn.Parameter(torch.empty_like(parameter, device=device), parameter.requires_grad)
        for module, name in places:
            setattr(module, name, made)
