# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
import torch

from gaudi3_scale.batch.out_of_memory import is_out_of_memory


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
        RuntimeError("FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::16777216 (16)MB"),
        RuntimeError("FATAL ERROR :: MODULE:PT_SYNHELPER workspace Allocation of size ::76436992 failed!"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: ..."),
        OSError(12, "Cannot allocate memory"),
    ],
)
def test_memory_that_ran_out(error):
    assert is_out_of_memory(error)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("mat1 and mat2 shapes cannot be multiplied"),
        ValueError("out of memory is a text that a workload may check for"),
        OSError(2, "No such file or directory"),
    ],
)
def test_another_error(error):
    assert not is_out_of_memory(error)


def test_the_error_behind_an_error_counts():
    try:
        try:
            raise MemoryError
        except MemoryError as cause:
            raise ValueError("the step failed") from cause
    except ValueError as error:
        assert is_out_of_memory(error)
