# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Memory curves drawn from a seed, for ``benchmarks/batch_search.py --curves``: nothing here is measured.

A curve is a card, what rests on it, a shape and a true limit: the largest size at which no step runs out of memory.
The search's rules and constants were chosen on the shapes ``TOLD``, with other seeds than the one that is shown.
``KEPT_AWAY`` are shapes that it was not made with, ``UNTOLD`` those that no reading tells before it is too late.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from benchmarks.batch_models import Workload
from gaudi3_scale.core._batch.memory_model import Prior
from gaudi3_scale.core._batch.prior_line import line_of

MIB, GIB = 1 << 20, 1 << 30
# A simulated card as in the sandbox, two of other vendors, Gaudi 2 and Gaudi 3.
CARDS = (2 * GIB, 24 * GIB, 80 * GIB, 96 * GIB, 128 * GIB)
# How wrong the host's estimate may be, and what it says of itself.
ESTIMATE_ERROR = 0.15
FEW = 8
LEAST, MOST = 9, 4096
NOISE = 0.03

Peak = Callable[[float], float]


@dataclass
class Curve(Workload):
    """``expected`` is the peak that follows from the shapes of the tensors, without what the device makes of it."""

    expected: Peak = lambda size: size

    def estimate(self, error: tuple[float, float]) -> Prior:
        """What the host works out from ``expected``, as for a workload, with both figures wrong by a factor."""
        told = line_of(lambda size: self.expected(size) * self.card, self.card)
        static, sample = told.static_bytes * error[0], told.bytes_per_sample * error[1]
        return replace(told, static_bytes=static, bytes_per_sample=sample, uncertainty=ESTIMATE_ERROR)


@dataclass(frozen=True)
class _Base:
    """Parts of the card: ``resting`` between steps, ``start`` of a peak at no sample, the rest is the batch's."""

    resting: float
    start: float

    def line(self, limit: float) -> Peak:
        return lambda size: self.start + (1 - self.start) * size / limit


def curve(shape: str, seed: int) -> Curve:
    """The curve of a shape and a seed; the same one whenever it is asked for."""
    dice = random.Random(f"curve {shape} {seed}")
    card = dice.choice(CARDS)
    resting = dice.uniform(0.05, 0.6)
    base = _Base(resting, min(resting * dice.choice((1.0, 1.0, dice.uniform(1.0, 4 / 3))), 0.75))
    peak, expected, limit = SHAPES[shape](dice, base, card)
    noise = dice.uniform(0.0, NOISE) if shape == "noisy" else 0.0
    while peak(limit + 1) == peak(limit):
        limit += 1
    # Between the limit and the size after it, not so near that the margin costs a small limit its last sample.
    # Where noise is, all of it fits at the limit.
    memory = (peak(limit) + dice.uniform(0.2, 0.9) * (peak(limit + 1) - peak(limit))) * (1 + noise)
    last = limit
    while peak(last + 1) * (1 + noise) <= memory:
        last += 1
    scale = 1 / memory

    def of_card(part: Peak) -> Peak:
        return lambda size: part(size) * scale

    whole, told = of_card(peak), of_card(expected)
    return Curve(shape, last, whole, resting * scale, 1.0, noise, seed, card, expected=told)


def drawn(count: int, seed: int, shapes: tuple[str, ...]) -> list[Curve]:
    """``count`` curves, each shape as often as any other."""
    return [curve(shapes[number % len(shapes)], seed * 1_000_000 + number) for number in range(count)]


def _limit(dice: random.Random, least: int = LEAST, most: int = MOST) -> int:
    return round(math.exp(dice.uniform(math.log(least), math.log(most))))


Made = tuple[Peak, Peak, int]


def _affine(dice: random.Random, base: _Base, _card: int) -> Made:
    limit = _limit(dice)
    line = base.line(limit + 0.5)
    return line, line, limit


def _quadratic(dice: random.Random, base: _Base, _card: int) -> Made:
    """A part that grows with the square, as in contrastive losses: up to half of the batch's at the limit."""
    limit, bent = _limit(dice), dice.uniform(0.1, 0.5)

    def peak(size: float) -> float:
        part = size / (limit + 0.5)
        return base.start + (1 - base.start) * ((1 - bent) * part + bent * part * part)

    return peak, peak, limit


def _bent(dice: random.Random, base: _Base, _card: int) -> Made:
    """A power: kernels that take more for each sample the more there are."""
    limit, power = _limit(dice), dice.uniform(1.02, 1.12)

    def peak(size: float) -> float:
        return base.start + (1 - base.start) * math.pow(size / (limit + 0.5), power)

    return peak, base.line(limit + 0.5), limit


def _padded(period: int) -> Callable[[random.Random, _Base, int], Made]:
    """Batches filled up to a multiple, by the device (the estimate knows nothing of it) or by the workload's own code.

    With the offset the steps lie beside the multiples: a sample that the workload adds, or a tail that it cuts.
    """

    def make(dice: random.Random, base: _Base, _card: int) -> Made:
        blocks = _limit(dice, 1, max(MOST // period // 2, 2))
        offset = dice.choice((0, 0, dice.randrange(period)))
        line = base.line(blocks * period + 0.5)

        def peak(size: float) -> float:
            return line(period * math.ceil((size + offset) / period))

        return peak, peak, blocks * period - offset

    return make


def _blocks(dice: random.Random, base: _Base, card: int) -> Made:
    """The allocator hands out whole blocks of 2, 3 or 32 MiB, of which several grow with the batch."""
    limit = _limit(dice)
    line = base.line(limit + 0.5)
    block = dice.choice((2, 3, 32)) * MIB / card * dice.randint(1, 4)
    return (lambda size: block * math.ceil(line(size) / block)), line, limit


def _late(dice: random.Random, base: _Base, _card: int) -> Made:
    """At small sizes the peak is that of the optimizer's step, up to 70 % of the way to the limit."""
    limit = _limit(dice)
    line = base.line(limit + 0.5)
    plateau = line(limit * dice.uniform(0.1, 0.7))
    return (lambda size: max(plateau, line(size))), line, limit


def _few(dice: random.Random, base: _Base, _card: int) -> Made:
    """Large samples: 1 to 8 of them fit."""
    limit = dice.randint(1, FEW)
    line = base.line(limit + 0.5)
    return line, line, limit


SHAPES: dict[str, Callable[[random.Random, _Base, int], Made]] = {
    "affine": _affine,
    "quadratic": _quadratic,
    "bent": _bent,
    "padded 8": _padded(8),
    "padded 16": _padded(16),
    "padded 128": _padded(128),
    "blocks": _blocks,
    "noisy": _affine,
    "late": _late,
    "few": _few,
}
TOLD = tuple(SHAPES)


def _kink(dice: random.Random, base: _Base, _card: int) -> Made:
    """From somewhere on a sample takes up to twice as much: another kernel."""
    limit = _limit(dice)
    knee, steeper = limit * dice.uniform(0.3, 0.8), dice.uniform(1.2, 2.0)
    whole = knee + (limit + 0.5 - knee) * steeper

    def peak(size: float) -> float:
        part = min(size, knee) + max(size - knee, 0.0) * steeper
        return base.start + (1 - base.start) * part / whole

    return peak, base.line(limit + 0.5), limit


def _concave(dice: random.Random, base: _Base, _card: int) -> Made:
    """Small batches waste what large ones share."""
    limit, power = _limit(dice), dice.uniform(0.85, 0.98)

    def peak(size: float) -> float:
        return base.start + (1 - base.start) * math.pow(size / (limit + 0.5), power)

    return peak, base.line(limit + 0.5), limit


def _growing_blocks(dice: random.Random, base: _Base, _card: int) -> Made:
    """Each allocation is rounded up to a sixteenth of the power of two above it."""
    limit = _limit(dice)
    line = base.line(limit + 0.5)

    def peak(size: float) -> float:
        batch = line(size) - base.start
        block = math.pow(2, math.floor(math.log2(batch))) / 16
        return base.start + block * math.ceil(batch / block)

    return peak, line, limit


def _hidden(dice: random.Random, base: _Base, card: int) -> Made:
    """Filled up to 16 or 128 by the device, of which the estimate knows nothing."""
    period = dice.choice((16, 128))
    peak, _told, limit = _padded(period)(dice, base, card)
    sample = (peak(10 * period) - peak(5 * period)) / (5 * period)
    return peak, (lambda size: base.start + sample * size), limit


def _cliff(dice: random.Random, base: _Base, _card: int) -> Made:
    """At one size a workspace of 5 to 20 % of the card is there at once: nothing below tells of it."""
    limit, height = _limit(dice), dice.uniform(0.05, 0.2)
    line = base.line(limit + 0.5)
    edge = math.ceil(limit * dice.uniform(0.6, 1.0))
    return (lambda size: line(size) * (1 - height) + (height if size >= edge else 0.0)), line, limit


KEPT_AWAY = ("padded 24", "padded 100", "kink", "concave", "growing blocks")
UNTOLD = ("hidden", "cliff")
SHAPES |= {
    "padded 24": _padded(24),
    "padded 100": _padded(100),
    "kink": _kink,
    "concave": _concave,
    "growing blocks": _growing_blocks,
    "hidden": _hidden,
    "cliff": _cliff,
}
