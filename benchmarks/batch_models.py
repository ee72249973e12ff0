# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Simulated workloads on a simulated card: how much memory a training step takes, and where it stops to fit.

Nothing here is measured; the shapes are those that a probe has to expect. Sizes are of a card of 128 GB. Each model is
made for a true limit: so many samples fit, one more does not. ``spare`` is where between the two the memory ends.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / ".collections"))

from gaudi3_scale.batch.quiet import MOST_STEPS, is_quiet  # noqa: E402

CARD = 128_000_000_000
LIMITS = (1, 2, 7, 37, 96, 200, 513, 1000, 1024, 5000)
MAXIMUM = 8192
FURTHER_STEPS = 200
# A trial makes so many steps at least: one to warm up and three more, as a Workload does by default.
WARM_UP, STEPS = 1, 3


@dataclass
class Workload:
    """``peak`` is bytes of a step by its batch size, ``resting`` those between steps, both for a card of 1.

    ``card`` has so many bytes.
    """

    shape: str
    limit: int
    peak: Callable[[float], float]
    resting: float
    memory: float
    noise: float = 0.0
    seed: int = 0
    card: int = CARD
    tried: list[int] = field(default_factory=list)
    failed: int = 0

    def steps(self, size: int, count: int, what: str) -> list[float]:
        """The peaks of ``count`` steps; the same ones whenever the same is asked."""
        dice = random.Random(f"{self.shape} {self.limit} {self.seed} {what} {size}")
        return [self.peak(size) * (1 + self.noise * dice.uniform(-1, 1)) for _ in range(count)]

    def run(self, size: int) -> list[float] | None:
        """One trial: the peaks of its steps, or None where one of them ran out of memory."""
        self.tried.append(size)
        peaks = self.steps(size, WARM_UP + MOST_STEPS, f"trial {len(self.tried)}")
        for count in range(1, len(peaks) + 1):
            if peaks[count - 1] > self.memory:
                self.failed += 1
                return None
            if count >= WARM_UP + STEPS and is_quiet(peaks[WARM_UP:count], self.memory):
                return peaks[:count]
        return peaks

    def fits(self, size: int) -> bool:
        return self.run(size) is not None

    def safe(self, size: int) -> bool:
        """Whether so many further steps all run."""
        return max(self.steps(size, FURTHER_STEPS, "job")) <= self.memory


def workload(shape: str, limit: int, seed: int, spare: float | None = None) -> Workload:
    dice = random.Random(f"{shape} {limit} {seed}")
    make = SHAPES[shape]
    peak, resting, noise = make(dice, limit)
    part = dice.uniform(0.1, 0.9) if spare is None else spare
    memory = _end(peak, limit, part)
    return Workload(shape, limit, lambda size: peak(size), resting, memory, noise, seed)


def _end(peak: Callable[[float], float], limit: int, part: float) -> float:
    """Memory that holds ``limit`` samples and not one more."""
    return peak(limit) + part * (peak(limit + 1) - peak(limit))


Made = tuple[Callable[[float], float], float, float]


def _affine(dice: random.Random, limit: int) -> Made:
    resting = dice.uniform(0.05, 0.45)
    slope = (1 - resting) / (limit + 0.5)
    return lambda size: resting + slope * size, resting, 0.0


def _offset(dice: random.Random, limit: int) -> Made:
    """Affine, but some of the peak is there at any size and not between steps: a workspace, kept gradients."""
    resting = dice.uniform(0.05, 0.45)
    start = resting * dice.uniform(1.1, 4 / 3)
    slope = (1 - start) / (limit + 0.5)
    return lambda size: start + slope * size, resting, 0.0


def _rounded(dice: random.Random, limit: int) -> Made:
    """The allocator takes memory in blocks of 0.1 to 1 % of the card; the true limit is the last size of a block."""
    peak, resting, _noise = _affine(dice, limit)
    block = math.exp(dice.uniform(math.log(0.001), math.log(0.01)))
    # Half a sample above the limit a block is full.
    end = peak(limit + 0.5) / block
    shift = math.ceil(end) - end
    return lambda size: math.ceil(peak(size) / block + shift) * block, resting, 0.0


def _late(dice: random.Random, limit: int) -> Made:
    """At small sizes the peak is that of the optimizer step: it does not move until the activations outgrow it."""
    resting = dice.uniform(0.05, 0.4)
    plateau = resting * dice.uniform(4 / 3, 5 / 3)
    slope = (1 - resting) / (limit + 0.5)
    return lambda size: max(plateau, resting + slope * size), resting, 0.0


def _attention(dice: random.Random, limit: int) -> Made:
    """The activations grow faster than the batch: as a power, or with a quadratic part of up to 40 % at the limit."""
    resting = dice.uniform(0.05, 0.45)
    if dice.random() < 0.5:
        power = dice.uniform(1.02, 1.12)
        return lambda size: resting + (1 - resting) * (size / (limit + 0.5)) ** power, resting, 0.0
    bent = dice.uniform(0.1, 0.4)

    def quadratic(size: float) -> float:
        part = size / (limit + 0.5)
        return resting + (1 - resting) * ((1 - bent) * part + bent * part * part)

    return quadratic, resting, 0.0


def _noisy(dice: random.Random, limit: int) -> Made:
    """Each step's peak lies up to 2 % above or below the line."""
    peak, resting, _noise = _affine(dice, limit)
    return peak, resting, 0.02


SHAPES = {
    "affine": _affine,
    "offset": _offset,
    "rounded": _rounded,
    "late": _late,
    "attention": _attention,
    "noisy": _noisy,
}
# The ones that the goals on trials and answers are about.
HELD = ("affine", "offset", "rounded", "late")
