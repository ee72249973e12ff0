# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The most memory that this rank has had in use: of its device, or on the CPU of its process."""

from __future__ import annotations

import resource
from typing import Callable

import torch

from gaudi3_scale.memory import CudaMemory, DeviceMemory, GaudiMemory


def device_memory(device: torch.device) -> DeviceMemory | None:
    """The device's own count; None on the CPU, where the kernel counts."""
    if device.type == "hpu":
        return GaudiMemory()
    return CudaMemory(device) if device.type == "cuda" else None


def peak_reader(memory: DeviceMemory | None) -> Callable[[], int]:
    """Reads the most bytes in use so far: on the device, or on the CPU of this process (its resident memory)."""
    return _peak_resident_bytes if memory is None else memory.peak


def _peak_resident_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
