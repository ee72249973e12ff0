# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Learning rates over the steps of a job, as PyTorch's schedulers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler, OneCycleLR

COSINE, ONE_CYCLE, CONSTANT = "cosine", "one-cycle", "constant"
NAMES = (COSINE, ONE_CYCLE, CONSTANT)
FINAL_RATE = 0.1
"""The part of the learning rate that a cosine leaves at the last step."""
ONE_CYCLE_WARMUP = 0.3
"""The part of the steps in which one cycle rises where no number is given: PyTorch's default."""


@dataclass(frozen=True)
class Schedule:
    """A rise to ``learning_rate`` over ``warmup_steps`` (None: what is usual), then what ``name`` says.

    ``cosine``: a linear rise, then half a cosine down to a tenth at ``max_steps``. ``constant``: a linear rise, then no
    change. ``one-cycle``: PyTorch's OneCycleLR, from a 25th up and down to nearly nothing; AdamW's first beta goes the
    other way.
    """

    learning_rate: float
    warmup_steps: int | None
    max_steps: int
    name: str = COSINE

    def scheduler(self, optimizer: Optimizer) -> LRScheduler:
        """To be stepped after each step of the optimizer."""
        if self.name == ONE_CYCLE:
            rise = ONE_CYCLE_WARMUP if self.warmup_steps is None else self.warmup_steps / self.max_steps
            return OneCycleLR(optimizer, self.learning_rate, total_steps=self.max_steps, pct_start=rise)
        return LambdaLR(optimizer, self.factor)

    def factor(self, step: int) -> float:
        """The learning rate of step ``step`` (the first is 0) as a part of the highest; not of one cycle."""
        warmup = self.warmup_steps or 0
        if step < warmup:
            return (step + 1) / warmup
        if self.name == CONSTANT:
            return 1.0
        done = min(1.0, (step - warmup) / max(1, self.max_steps - warmup))
        return FINAL_RATE + (1 - FINAL_RATE) * (1 + math.cos(math.pi * done)) / 2
