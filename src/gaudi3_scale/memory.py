# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How much memory a trial took, and a limit that stands for a card's memory where there is no card."""

from __future__ import annotations

import resource
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import torch

from gaudi3_scale.devices import hpu_module


def start_threads() -> None:
    """One pass forwards and backwards on the CPU: the stacks of PyTorch's threads belong to no batch size."""
    square = torch.ones(512, 512, requires_grad=True)
    (square @ square).sum().backward()


@contextmanager
def memory_limit(size: int | None) -> Iterator[None]:
    """Let this process have at most ``size`` bytes of private memory beyond what it has now; None for no limit.

    The limit is RLIMIT_DATA, which counts what can be written (since Linux 4.7), and not RLIMIT_AS, which also counts
    the address space that each thread of the C library only sets aside. It is lifted at the end, so that a process
    that ran into it can still say so. A limit that the process was started with stays.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if size is not None:
        wanted = _status("VmData") + size
        limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_DATA, (min([wanted, *limits]), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


class PeakMemory:
    """The most memory in use on ``device`` since this was made, in bytes.

    On a CPU: how far the process's largest resident size has grown. It is read from the kernel's VmHWM and not from
    ``getrusage``, whose maximum a process takes over from the one that started it.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._before = 0
        if device.type == "hpu":
            hpu_module().reset_peak_memory_stats()
        elif device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        else:
            self._before = _status("VmHWM")

    def read(self) -> int:
        if self._device.type == "hpu":
            return int(hpu_module().memory_stats()["MaxInUse"])
        if self._device.type == "cuda":
            return torch.cuda.max_memory_allocated(self._device)
        return _status("VmHWM") - self._before


def _status(name: str) -> int:
    """A size from /proc/self/status (proc(5)), in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
