# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How much memory a device has for this process, how much of it is in use, and the most that a step took, in bytes.

Never run on a card: what is read on ``hpu`` follows the bridge's source (1.19): ``Limit`` is the pool that the process
took of the card, ``InUse`` and ``MaxInUse`` count tensors and the workspace of graphs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch

from gaudi3_scale.devices import hpu_module
from gaudi3_scale.elsewhere import missing


class DeviceMemory(ABC):
    """``limit`` is what this process may take, None where nothing bounds it; ``used_by_others`` before it began."""

    def __init__(self, limit: int | None, used_by_others: int | None) -> None:
        self.limit = limit
        self.used_by_others = used_by_others
        self._highest = 0
        self._forget_peak()

    def start_step(self) -> None:
        self._highest = self.peak()
        self._forget_peak()

    def peak(self) -> int:
        """The most in use since this was made."""
        return max(self._highest, self.step_peak())

    @abstractmethod
    def step_peak(self) -> int:
        """The most in use since the step was started."""

    @abstractmethod
    def in_use(self) -> int:
        """What is in use now."""

    @abstractmethod
    def _forget_peak(self) -> None:
        """From now on the most in use is counted anew."""


class GaudiMemory(DeviceMemory):
    """Nobody else can have any of a card that a process has opened: it takes the whole of it."""

    def __init__(self) -> None:
        self._module = hpu_module()
        super().__init__(int(self._module.memory_stats()["Limit"]), None)

    def step_peak(self) -> int:
        return int(self._module.memory_stats()["MaxInUse"])

    def in_use(self) -> int:
        return int(self._module.memory_stats()["InUse"])

    def _forget_peak(self) -> None:
        self._module.reset_peak_memory_stats()


class CudaMemory(DeviceMemory):
    """``used_by_others`` has this process's own context in it, some hundred megabytes, which nothing tells apart."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        free, total = torch.cuda.mem_get_info(device)
        super().__init__(free + torch.cuda.memory_reserved(device), total - free)

    def step_peak(self) -> int:
        return torch.cuda.max_memory_allocated(self._device)

    def in_use(self) -> int:
        return torch.cuda.memory_allocated(self._device)

    def _forget_peak(self) -> None:
        torch.cuda.reset_peak_memory_stats(self._device)


def __getattr__(name: str) -> Any:
    """Told to whoever imports what guides to Gaudi have in a module of this name."""
    raise missing(__name__, name)
