# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The weights of a checkpoint by name, whatever format has them: one at a time, never a model as a whole."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class TensorInfo:
    dtype: torch.dtype
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


class Weights(ABC):
    """``where`` names them in messages. All that a format can tell of damage was refused when they were opened."""

    where: str
    tensors: Mapping[str, TensorInfo]

    @abstractmethod
    def read(self, names: Iterable[str]) -> dict[str, torch.Tensor]:
        """These tensors in host memory. Raises GaudiError where one cannot be read."""

    def one(self, name: str) -> torch.Tensor:
        return self.read([name])[name]


def same_bits(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Equal dtype, shape and bytes: a NaN equals itself, and 0 is not -0."""
    return first.dtype == second.dtype and first.shape == second.shape and torch.equal(_bytes(first), _bytes(second))


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)
