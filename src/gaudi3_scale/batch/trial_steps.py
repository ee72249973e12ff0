# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of a probe trial, each with its time, its peak of memory and its loss: as many as it takes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Callable

import torch

from gaudi3_scale.batch.quiet import MOST_STEPS, is_quiet
from gaudi3_scale.devices import synchronize
from gaudi3_scale.memory import DeviceMemory


@dataclass
class Steps:
    """What the steps after those to warm up did. ``resting`` is the least in use between two of them."""

    warm_up_seconds: float | None = None
    seconds: list[float] = field(default_factory=list)
    peaks: list[int] = field(default_factory=list)
    resting: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)


def run_steps(
    step: Callable[[], object], device: torch.device, memory: DeviceMemory, least: int, warm_up: int
) -> Steps:
    """Make ``warm_up`` steps, then at least ``least``, until the peak is quiet: optimizer state appears late.

    Collective where a process group was joined: the ranks make the same number of steps.
    """
    made = Steps()
    if warm_up:
        made.warm_up_seconds = sum(_one_step(step, device)[0] for _turn in range(warm_up))
    while len(made.seconds) < max(least, MOST_STEPS):
        memory.start_step()
        seconds, loss = _one_step(step, device)
        made.seconds.append(seconds)
        made.peaks.append(memory.step_peak())
        made.resting.append(memory.in_use())
        made.losses += [] if loss is None else [loss]
        if len(made.seconds) >= least and _all_ranks(is_quiet(made.peaks, memory.limit), device):
            break
    return made


def _one_step(step: Callable[[], object], device: torch.device) -> tuple[float, float | None]:
    """Seconds and loss. What the step returned is let go before the next one: it may hold on to memory."""
    start = time.perf_counter()
    value = step()
    synchronize(device)
    return time.perf_counter() - start, _number(value)


def _number(value: object) -> float | None:
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        return float(value.detach())
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _all_ranks(quiet: bool, device: torch.device) -> bool:
    if not torch.distributed.is_initialized():
        return quiet
    flag = torch.tensor([int(quiet)], dtype=torch.int32, device=device)
    torch.distributed.all_reduce(flag, op=torch.distributed.ReduceOp.MIN)
    return bool(flag.item())
