# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the line ``start`` says of a run beside its steps: versions, nodes, the flags that are set, memory."""

from __future__ import annotations

import importlib.metadata
import platform
import resource
from typing import Callable, Mapping, Sequence

import torch

from gaudi3_scale.core.flag_catalogue.catalogue import find_flag
from gaudi3_scale.core.job.job_secrets import masked
from gaudi3_scale.core.kernel.modules import loaded_version
from gaudi3_scale.memory import CudaMemory, DeviceMemory, GaudiMemory

# The bridge's distributions are named by Intel; each release calls itself by the version of the first.
DISTRIBUTIONS = ("gaudi3-scale", "torch", "lightning", "habana-torch-plugin", "habana-torch-dataloader", "transformers")


def run_facts(environment: Mapping[str, str], nodes: Sequence[str], memory: DeviceMemory | None) -> dict[str, object]:
    """The fields of the line; ``nodes`` are the nodes' names in the order of their ranks."""
    flags = {name: value for name, value in environment.items() if find_flag(name) is not None}
    return {
        "hosts": list(nodes),
        "versions": versions(),
        "flags": masked(dict(sorted(flags.items()))),
        "memory_limit_bytes": None if memory is None else memory.limit,
    }


def versions(kernel_root: str = "/") -> dict[str, str]:
    """Name to version, of what is installed here; ``driver`` is what the loaded habanalabs calls itself."""
    found = {"python": platform.python_version()}
    for name in DISTRIBUTIONS:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    # What is loaded, where two distributions claim the name.
    found["torch"] = str(torch.__version__)
    driver = loaded_version(kernel_root)
    return {**found, "driver": driver} if driver else found


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
