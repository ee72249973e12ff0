# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How many data loader processes a rank needs, measured with the data that it will read."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Callable, Iterator

import torch
from torch.utils.data import DataLoader, Dataset

from gaudi3_scale.data.token_windows import StreamSampler

AUTO = "auto"
WAIT = 0.02
"""Without workers the rank waits for each batch: by this part of a pass at most."""
MARGIN = 1.25
"""With workers batches come so many times as fast as they are used, since other things run on the node as well."""
SEED = 0x5EED
"""Of the order in which is read while measuring: not that of a job, which reads the same data afterwards."""
_PRIME = 10_007


@dataclass(frozen=True)
class WorkerChoice:
    """``rates``: batches a second by number of workers, as far as measured. ``needed``: so many are used a second."""

    workers: int
    rates: dict[int, float]
    needed: float
    keeps_up: bool


def smallest_that_keeps_up(
    rate_of: Callable[[int], float], candidates: list[int], seconds_of_pass: float
) -> WorkerChoice:
    """The first of ``candidates``, in rising order, that gives batches fast enough, else the fastest."""
    rates: dict[int, float] = {}
    for workers in candidates:
        rates[workers] = rate_of(workers)
        if rates[workers] >= (MARGIN if workers else 1 / WAIT) / seconds_of_pass:
            return WorkerChoice(workers, rates, 1 / seconds_of_pass, True)
    return WorkerChoice(max(rates, key=lambda workers: rates[workers]), rates, 1 / seconds_of_pass, False)


def candidates_for(processors: int) -> list[int]:
    """0, 1, 2, 4, … up to the processors that one rank has."""
    return [0, *(1 << power for power in range(max(1, processors).bit_length()))]


def loading_rate(
    windows: Dataset[torch.Tensor], batch_size: int, workers: int, place: int = 0, seconds: float = 1.0
) -> float:
    """Batches a second that ``workers`` processes give when nothing else is done.

    What was read before comes faster, from the page cache: another ``place`` reads other windows.
    """
    count = len(windows)  # type: ignore[arg-type]
    sampler = StreamSampler(count, batch_size, SEED, position=(place * _PRIME + workers) * _PRIME % count)
    batches = iter(DataLoader(windows, sampler=sampler, batch_size=None, num_workers=workers))
    # The processes have to start, and keep two batches each ready.
    _take(batches, 1 + 4 * workers)
    start = time.perf_counter()
    taken = 0
    while (passed := time.perf_counter() - start) < seconds:
        _take(batches, 1)
        taken += 1
    return taken / passed


def _take(batches: Iterator[object], count: int) -> None:
    for _turn in range(count):
        next(batches)
