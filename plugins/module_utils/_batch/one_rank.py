# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the trials of one rank say about several: where their search starts, which then measures; pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Sequence

from .memory_model import Prior
from .search import OK, Trial
from .trial import Workload

# DDP keeps gradients in buckets of its own. Beside a weight and a gradient AdamW has two numbers of the same size, so
# gradients are at most this part of what rests between two steps, where they are let go.
GRADIENTS = 1 / 3
# How wrong a line through readings may be.
UNCERTAINTY = 0.05
# Two readings tell a slope only this far apart.
APART = 0.8
DDP = {"sharding": "ddp"}


def one_rank(workload: Workload) -> Workload | None:
    """The workload of one rank alone; None where there is but one. One rank has nobody to share with."""
    if workload.processes == 1:
        return None
    options = {name: value for name, value in workload.options.items() if DDP.get(name) != value}
    return replace(workload, processes=1, options=options)


def prior_of_one_rank(trials: Sequence[Trial]) -> Prior | None:
    """The line of its readings, with room for the buckets; None where it has left none that make a line."""
    peaks = {trial.batch_size: trial.peak_memory_bytes for trial in trials if trial.outcome == OK}
    points = sorted((size, peak) for size, peak in peaks.items() if peak)
    resting = max((trial.resting_memory_bytes or 0 for trial in trials), default=0)
    if not points or not resting:
        return None
    size, peak = points[-1]
    before, low = max((point for point in points if point[0] <= APART * size), default=(0, resting))
    slope = (peak - low) / (size - before)
    if slope <= 0:
        return None
    return Prior(max(peak - size * slope, 0.0) + GRADIENTS * resting, slope, UNCERTAINTY)
