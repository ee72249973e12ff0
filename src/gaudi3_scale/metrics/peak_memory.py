# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The memory that this rank has in use, and the most it has had: of its device, or on the CPU of its process."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import torch

from gaudi3_scale.memory import CudaMemory, DeviceMemory, GaudiMemory


def device_memory(device: torch.device) -> DeviceMemory | None:
    """The device's own count; None on the CPU, where the kernel counts."""
    if device.type == "hpu":
        return GaudiMemory()
    return CudaMemory(device) if device.type == "cuda" else None


@dataclass(frozen=True)
class MemoryUse:
    """Bytes: ``peak`` reads the most in use so far, ``in_use`` what is in use now."""

    peak: Callable[[], int]
    in_use: Callable[[], int]


def memory_use(memory: DeviceMemory | None) -> MemoryUse:
    """Of the device, or on the CPU of this process: its resident memory."""
    if memory is None:
        return MemoryUse(_peak_resident_bytes, _resident_bytes)
    return MemoryUse(memory.peak, memory.in_use)


def _peak_resident_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
