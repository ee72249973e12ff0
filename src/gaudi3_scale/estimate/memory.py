# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A card's memory by part, for one card or many, and how many cards or samples it is enough for; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable

from gaudi3_scale.models.sharding import FSDP2

# What kernels and libraries take beside the tensors that PyTorch knows of, as parts of the activations and of the rest:
# the most that was measured on a CPU (benchmarks/estimate.py). Nothing of it was measured on a card.
KERNELS = {"bf16": 0.04, "fp32": 0.02}
ALLOCATOR = 0.01
# What FSDP2 has whole on the way back, in blocks: the weights of one, those of the next as they came and unpacked, the
# gradients of one as they were computed and packed, and those that are still on their way (benchmarks/estimate.py).
BLOCKS_AT_A_TIME = 7
# The same of what lies outside all blocks, which comes last and alone.
OUTSIDE_AT_A_TIME = 4
MOST_CARDS = 1 << 17
MOST_SAMPLES = 1 << 24


@dataclass(frozen=True)
class ModelState:
    """Bytes of a model that trains: all of it, of its largest block, and of what lies outside all blocks."""

    parameters: int
    weights: int
    gradients: int
    optimizer: int
    largest_block: int
    outside_blocks: int

    @property
    def together(self) -> int:
        return self.weights + self.gradients + self.optimizer


@dataclass(frozen=True)
class Parts:
    """Bytes on each card. ``rest``: kernels, the allocator, and what the cards send to each other."""

    weights: int
    gradients: int
    optimizer: int
    activations: int
    rest: int

    @property
    def state(self) -> int:
        return self.weights + self.gradients + self.optimizer

    @property
    def together(self) -> int:
        return self.state + self.activations + self.rest


def parts_of(state: ModelState, activations: int, cards: int, sharding: str, precision: str) -> Parts:
    """``activations`` are those of a card's own batch."""
    cut = cards if sharding == FSDP2 else 1
    weights, gradients, optimizer = (
        math.ceil(part / cut) for part in (state.weights, state.gradients, state.optimizer)
    )
    # DDP makes its buckets anew in the second step, while the gradients still lie in the first ones.
    exchanged = max(gradients - activations, 0)
    if sharding == FSDP2:
        in_blocks = BLOCKS_AT_A_TIME * state.largest_block + state.outside_blocks
        exchanged = max(in_blocks, OUTSIDE_AT_A_TIME * state.outside_blocks)
    known = weights + gradients + optimizer + activations + exchanged
    return Parts(
        weights,
        gradients,
        optimizer,
        activations,
        exchanged + math.ceil(KERNELS[precision] * activations + ALLOCATOR * known),
    )


def with_margin(peak: int, precision: str) -> int:
    """Of a step whose parts nobody knows."""
    return math.ceil(peak * (1 + KERNELS[precision] + ALLOCATOR))


def cards_needed(on_each: Callable[[int], int], memory: int) -> int | None:
    """The fewest cards on each of which ``on_each(cards)`` bytes fit; None where no number is enough."""
    if on_each(MOST_CARDS) > memory:
        return None
    too_few, enough = 0, 1
    while on_each(enough) > memory:
        too_few, enough = enough, 2 * enough
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if on_each(middle) <= memory else (middle, enough)
    return enough


def largest_batch(of_batch: Callable[[int], int], memory: int) -> int:
    """The largest batch whose ``of_batch(batch)`` bytes fit, 0 where not even one sample does.

    Memory grows in a line, or bent upwards: what a line through two sizes says is the limit or beyond it. Where it is
    bent the middle is tried in turn.
    """
    if of_batch(1) > memory:
        return 0
    fits, beyond = 1, 2
    while beyond < MOST_SAMPLES and of_batch(beyond) <= memory:
        on_the_line = _on_the_line(of_batch, fits, beyond, memory)
        fits, beyond = beyond, min(max(on_the_line + 1, 2 * beyond), MOST_SAMPLES)
    straight = True
    while beyond - fits > 1:
        size = _on_the_line(of_batch, fits, beyond, memory) if straight else (fits + beyond) // 2
        size = min(max(size, fits + 1), beyond - 1)
        straight = not straight
        if of_batch(size) > memory:
            beyond = size
        elif of_batch(size + 1) > memory:
            return size
        else:
            fits = size + 1
    return fits


def _on_the_line(of_batch: Callable[[int], int], smaller: int, larger: int, memory: int) -> int:
    """The size at which the line through two others has used the memory up."""
    a_sample = max((of_batch(larger) - of_batch(smaller)) / (larger - smaller), 1)
    return smaller + math.floor((memory - of_batch(smaller)) / a_sample)
