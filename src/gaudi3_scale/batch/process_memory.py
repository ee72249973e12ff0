# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The memory of this process, and a limit on it that stands for a card's memory where there is no card.

What is counted is what the kernel counts against the limit: private memory that can be written (VmData, RLIMIT_DATA;
since Linux 4.7). Address space that a thread of the C library only sets aside is no part of it.
"""

from __future__ import annotations

import ctypes
import resource
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import torch

from gaudi3_scale.memory import DeviceMemory

# mallopt(3). A block of so many bytes or more gets pages of its own, which go back to the kernel when it is freed.
M_MMAP_THRESHOLD, BLOCK_BYTES = -3, 128 * 1024
M_ARENA_MAX = -8


def import_optimizers() -> None:
    """PyTorch imports its compiler, some 80 MB, when the first optimizer is made: that belongs to no batch size."""
    torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))])


def start_threads() -> None:
    """One pass forwards and backwards: the stacks of PyTorch's threads and the buffers of its matrix products."""
    square = torch.ones(1024, 1024, requires_grad=True)
    (square @ square).sum().backward()


@contextmanager
def limited_process(size: int | None) -> Iterator[ProcessMemory]:
    """Let this process have at most ``size`` bytes beyond what PyTorch itself takes; None for no limit but its own.

    The limit is lifted at the end, so that a process that ran into it can still say so. One that the process was
    started with stays. Under ``size`` the C library gives freed memory back at once: else what it keeps for later would
    count as used, and the largest batch would differ from one run to the next by some per cent.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    import_optimizers()
    if size is not None:
        _give_back_freed_memory()
    start_threads()
    if size is not None:
        _trim()
        wanted = status_bytes("VmData") + size
        limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_DATA, (min([wanted, *limits]), hard))
    try:
        yield ProcessMemory()
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


class ProcessMemory(DeviceMemory):
    """What this process has taken since this was made.

    The kernel keeps no maximum of VmData. It has one of resident memory that can be reset (VmHWM, and clear_refs in
    proc(5)): what of it has gone since was writable too, but for pages of files, which a kernel that is short of memory
    takes from whom it likes. And it has one of all address space (VmPeak), which cannot be reset and counts where it
    has risen: what of it cannot be written (libraries) does not change during training.
    """

    def __init__(self) -> None:
        self._start = status_bytes("VmData")
        self._start_peak = status_bytes("VmPeak")
        limit, _hard = resource.getrlimit(resource.RLIMIT_DATA)
        super().__init__(None if limit == resource.RLIM_INFINITY else limit - self._start, None)

    def step_peak(self) -> int:
        now = status_bytes("VmData")
        of_files = max(self._of_files, resident_of_files())
        gone = status_bytes("VmHWM") - of_files - status_bytes("RssAnon")
        return now + max(gone, 0) - self._start

    def peak(self) -> int:
        highest = status_bytes("VmPeak")
        if highest == self._start_peak:
            return super().peak()
        unwritable = status_bytes("VmSize") - status_bytes("VmData")
        return max(super().peak(), highest - unwritable - self._start)

    def in_use(self) -> int:
        return status_bytes("VmData") - self._start

    def _forget_peak(self) -> None:
        self._of_files = resident_of_files()
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def status_bytes(name: str) -> int:
    """A size from /proc/self/status (proc(5)), in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def resident_of_files() -> int:
    """What of this process's resident memory is pages of files, or shared."""
    return status_bytes("RssFile") + status_bytes("RssShmem")


def _give_back_freed_memory() -> None:
    """Other C libraries than glibc have no mallopt; then the largest batch is less sure."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_MMAP_THRESHOLD, BLOCK_BYTES)


def _trim() -> None:
    """What is free in the heap already would be used without being counted."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
