# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How many operations a second a card makes of a product of matrices, and how many bytes it copies in its memory."""

from __future__ import annotations

import time
from typing import Callable

import torch

from gaudi3_scale.devices import synchronize

_FEWEST, _MOST = 3, 10_000


def matmul_tflops(device: torch.device, side: int, seconds: float) -> float:
    """10^12 floating-point operations a second of square products in bfloat16, on a CPU in float32."""
    dtype = torch.float32 if device.type == "cpu" else torch.bfloat16
    left, right = (torch.ones(side, side, dtype=dtype, device=device) for _factor in range(2))
    out = torch.empty(side, side, dtype=dtype, device=device)
    return 2 * side**3 * _calls_per_second(lambda: torch.mm(left, right, out=out), device, seconds) / 1e12


def copy_gb_per_s(device: torch.device, size: int, seconds: float) -> float:
    """10^9 bytes a second that are read and written: a copy of ``size`` bytes moves twice as many."""
    source = torch.ones(size // 4, dtype=torch.float32, device=device)
    target = torch.empty_like(source)
    return 2 * size * _calls_per_second(lambda: target.copy_(source), device, seconds) / 1e9


def _calls_per_second(call: Callable[[], object], device: torch.device, seconds: float) -> float:
    call()
    synchronize(device)
    first = _timed(call, device, 1)
    calls = min(_MOST, max(_FEWEST, int(seconds / max(first, 1e-9))))
    return calls / _timed(call, device, calls)


def _timed(call: Callable[[], object], device: torch.device, calls: int) -> float:
    start = time.perf_counter()
    for _call in range(calls):
        call()
    synchronize(device)
    return time.perf_counter() - start
