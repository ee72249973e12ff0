# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint's weights become: a model that serving software knows, and where each of its weights comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True)
class Origin:
    """The weight of the trained model; ``transposed`` where the exported one has its rows as columns."""

    name: str
    transposed: bool = False


@dataclass(frozen=True)
class Architecture:
    """``config`` is Transformers' of the exported model. ``trained`` makes the trained one, without weights.

    ``shapes`` are those of its weights by name. ``tied`` has names that stand for another weight; ``buffers`` what is
    written as it is, whatever the weights' type. Of names that match ``ignored`` a checkpoint may have some.
    """

    name: str
    config: Any
    trained: Callable[[], nn.Module]
    shapes: Mapping[str, tuple[int, ...]]
    origins: Mapping[str, Origin]
    tied: Mapping[str, str] = field(default_factory=dict)
    buffers: frozenset[str] = frozenset()
    ignored: tuple[str, ...] = ()

    @property
    def places(self) -> int | None:
        """The most tokens of a window, where there is a limit."""
        found = getattr(self.config, "max_position_embeddings", None)
        return found if isinstance(found, int) else None


@contextmanager
def without_weights() -> Iterator[None]:
    """Parameters that are made meanwhile have a shape and no memory; buffers, which no checkpoint has, are real."""
    register = nn.Module.register_parameter

    def on_meta(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        if parameter is not None and not parameter.is_meta:
            parameter = nn.Parameter(parameter.to("meta"), requires_grad=False)
        register(module, name, parameter)

    nn.Module.register_parameter = on_meta  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        nn.Module.register_parameter = register  # type: ignore[method-assign]


def shapes_of(model: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def transposed(tensor: torch.Tensor, origin: Origin) -> torch.Tensor:
    return tensor.t().contiguous() if origin.transposed else tensor
