# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How others look for a batch size, on the simulated workloads: each returns its answer, the workload counts.

Lightning's two modes are Lightning's own functions, with the training loop replaced by a simulated trial. The others
are written after their source or documentation and named so: they are control flow, not their code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest import mock

from benchmarks.batch_models import MAXIMUM, Workload
from gaudi3_scale.core._batch.memory_model import Prior

Finder = Callable[[Workload], int]
# accelerate starts where the user says (its example: 128); the seeds' search has bounds of 1 and 1024.
ACCELERATE_START = 1024
# DeepSpeed takes a metric for a plateau below this gain, and tries so many sizes below the largest for speed.
DEEPSPEED_GAIN, DEEPSPEED_SIZES = 0.05, 3
# torch-kitsune adds a part to its estimate, and keeps so much of a card for the driver.
KITSUNE_OVERHEAD, KITSUNE_DRIVER = 1.15, 1 << 29


def lightning_finders() -> dict[str, Finder]:
    """Both modes of Lightning's BatchSizeFinder, or none where Lightning is not installed."""
    try:
        from lightning.pytorch.tuner import batch_size_scaling as scaling
    except ImportError:
        return {}

    def finder(search: Callable[..., int], *more: float) -> Finder:
        return lambda workload: _lightning(scaling, workload, search, *more)

    return {
        "Lightning, power": finder(scaling._run_power_scaling),
        "Lightning, binsearch": finder(scaling._run_binsearch_scaling, 0.05),
    }


def _lightning(scaling: Any, workload: Workload, search: Callable[..., int], *more: float) -> int:
    """``search`` with BatchSizeFinder's defaults: from 2, at most 25 trials, a margin of 5 % for binsearch."""
    model = SimpleNamespace(batch_size=2)
    # A dataset without a length, so that it does not bound the batch.
    loader = SimpleNamespace(_dataset_length=mock.Mock(side_effect=NotImplementedError))
    loop = SimpleNamespace(setup_data=lambda: None, _combined_loader=loader)
    trainer = SimpleNamespace(lightning_module=model, _active_loop=loop, datamodule=None)

    def train(_trainer: object, _params: object) -> None:
        if not workload.fits(model.batch_size):
            raise RuntimeError("CUDA out of memory. Simulated.")

    with (
        mock.patch.object(scaling, "_try_loop_run", train),
        mock.patch.object(scaling, "_reset_progress"),
        mock.patch.object(scaling, "_reset_dataloaders"),
        mock.patch.object(scaling, "garbage_collection_cuda"),
        mock.patch.object(scaling, "lightning_getattr", lambda holder, name: getattr(holder, name)),
        mock.patch.object(scaling, "lightning_setattr", setattr),
        mock.patch.object(scaling, "rank_zero_info"),
    ):
        return search(trainer, 2, "batch_size", 25, {}, *more, MAXIMUM)


def accelerate(workload: Workload) -> int:
    """find_executable_batch_size, as of 1.15: from the start downwards by a tenth, until one runs."""
    size = ACCELERATE_START
    while not workload.fits(size):
        size = int(size * 0.9)
        if size == 0:
            raise RuntimeError("No executable batch size found, reached zero.")
    return size


def seeds(workload: Workload) -> int:
    """The seeds' search: halves 1 to 1024. Only out-of-memory counts; its further test refuses small sizes."""
    low, high, best = 1, 1024, 0
    while low <= high:
        middle = (low + high) // 2
        if workload.fits(middle):
            best, low = middle, middle + 1
        else:
            high = middle - 1
    return best


def deepspeed(workload: Workload) -> int:
    """The autotuner's search for the largest micro-batch (autotuner.py), told the resting memory exactly."""
    profile = workload.run(1)
    if profile is None:
        return 0
    believed = int((workload.memory - workload.resting) / max(max(profile) - workload.resting, 1e-9))
    sizes = {1: workload.fits(1)}

    def runs(size: int) -> bool:
        if size not in sizes:
            sizes[size] = workload.fits(size)
        return sizes[size]

    most = min(believed, MAXIMUM)
    for size in (math.ceil(1.05 * most), most, int(0.95 * most)):
        if sizes.get(size):
            return size
        if 0 < size <= MAXIMUM and runs(size):
            return size
    low, high, speed = 1, most, _speed(workload, 1)
    while low < high and (middle := (low + high) // 2) != low:
        if not runs(middle):
            high = middle - 1
            continue
        low, gain, speed = middle, _speed(workload, middle) / speed - 1, _speed(workload, middle)
        if gain < DEEPSPEED_GAIN:
            break
    return low


def deepspeed_tuned(workload: Workload) -> int:
    """The same with what it runs next, for speed. Its answer is taken to be the largest, to its favor."""
    largest = deepspeed(workload)
    least = max(1, largest // 2)
    stride = max(1, (largest - least) // DEEPSPEED_SIZES)
    listed = [size for size in range(least, largest, stride) if largest // size != 1]
    for size in [*listed, largest]:
        workload.run(size)
    below = listed[-1] + 1 if listed else 1
    stride = max(1, (largest - below) // 3)
    best = _speed(workload, largest)
    for size in reversed(range(below, largest, stride)):
        workload.run(size)
        if _speed(workload, size) <= best * (1 + DEEPSPEED_GAIN):
            break
        best = _speed(workload, size)
    return largest


def kitsune(workload: Workload, told: Prior) -> int:
    """torch-kitsune 0.7.0 (kitsune/predict/estimator.py): halves 1 to 4096 by its estimate and 15 %; tries nothing."""
    usable = workload.card - KITSUNE_DRIVER
    low, high, best = 1, 4096, 1
    while low <= high:
        middle = (low + high) // 2
        if (told.static_bytes + told.filled(middle) * told.bytes_per_sample) * KITSUNE_OVERHEAD <= usable:
            best, low = middle, middle + 1
        else:
            high = middle - 1
    return best


def _speed(workload: Workload, size: int) -> float:
    """Samples a second, with half of the best at a tenth of the limit."""
    return size / (0.1 * workload.limit + size)
