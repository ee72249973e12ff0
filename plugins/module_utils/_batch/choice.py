# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The best batch size and not only the largest, and how a wanted global batch is made of it; pure.

On real accelerators the largest batch is more than 3 % slower than the best for a third of the models, and 95 % of the
best speed is reached at 43 % of the largest batch (87 models of milabench).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, Sequence, Union

from .._errors import GaudiError
from .bounds import Answer, Bounds, Try
from .search import OK, Trial, next_step

# A smaller batch is as good when its throughput is this near to the best.
AS_GOOD = 0.98
# How many trials the choice may make beyond those of the search.
MOST_EXTRA = 2
# A size is worth a trial of its own only if it is smaller than the best one by so much.
WORTH_IT = 0.8
SCALINGS = ("linear", "sqrt", "none")
# What the best size is: the largest that trains, or the smallest with the best throughput.
LARGEST, THROUGHPUT = "largest", "throughput"


@dataclass(frozen=True)
class GlobalBatch:
    """How ``global_batch`` samples become a step of the optimizer: per card, times accumulation, times cards."""

    global_batch: int
    world_size: int
    batch_size: int
    accumulation_steps: int
    learning_rate: float | None


def next_for(objective: str, trials: Sequence[Trial], bounds: Bounds) -> Union[Try, Answer]:
    """The next size to try for ``objective``, or the answer, from the trials alone; raises as ``next_step`` does."""
    step = next_step(trials, bounds)
    if objective == LARGEST or isinstance(step, Try):
        return step
    made = len(trials)
    # The trials without which the largest size would still be open; those after them were made for the speed.
    while made > 1 and isinstance(next_step(trials[: made - 1], bounds), Answer):
        made -= 1
    return next_for_throughput(trials, step, bounds, len(trials) - made)


def next_for_throughput(trials: Sequence[Trial], largest: Answer, bounds: Bounds, extra: int = 0) -> Union[Try, Answer]:
    """After the largest size is known: a smaller one to time, or the smallest within 2 % of the best throughput.

    ``extra`` is how many trials were made for this already. Where no step was timed the largest size is the answer.
    """
    timed = _timed(trials, largest, bounds)
    if not timed:
        return Answer(
            largest.batch_size, largest.certified, largest.within, "the largest size, because no step was timed"
        )
    best = max(timed.values())
    chosen = min(size for size, speed in timed.items() if speed >= AS_GOOD * best)
    size = _promising(timed, chosen, bounds)
    if size is not None and extra < MOST_EXTRA:
        return Try(size, "expected to be within 2 % of the best speed")
    share = timed[chosen] / best
    return Answer(
        chosen, largest.certified, largest.within, f"the smallest within 2 % of the best speed ({share:.1%} of it)"
    )


def _timed(trials: Sequence[Trial], largest: Answer, bounds: Bounds) -> dict[int, float]:
    """Samples a second by size, of what ran and is not above the answer; of two trials of a size the slower one."""
    speeds: dict[int, float] = {}
    for trial in trials:
        size = trial.batch_size
        if trial.outcome == OK and trial.step_seconds and size <= largest.batch_size and bounds.allows(size):
            speeds[size] = min(speeds.get(size, math.inf), size / trial.step_seconds)
    return speeds


def _promising(timed: dict[int, float], chosen: int, bounds: Bounds) -> int | None:
    """An untried smaller size that should be as good, by a step time of t0 + t1 * size; None where there is none."""
    below = [size for size in timed if size < chosen]
    if not below:
        size = bounds.down(chosen / 2)
        return size if size < WORTH_IT * chosen and size not in timed else None
    small = below[-1] if len(below) == 1 else max(below)
    slope = (chosen / timed[chosen] - small / timed[small]) / (chosen - small)
    start = chosen / timed[chosen] - slope * chosen
    if slope <= 0 or start <= 0:
        return None
    best = max(timed.values())
    # size / (start + slope * size) = AS_GOOD * best
    if slope * AS_GOOD * best >= 1:
        return None
    wanted = AS_GOOD * best * start / (1 - slope * AS_GOOD * best)
    size = min(bounds.down(wanted) + bounds.multiple_of, bounds.largest)
    return size if small < size < WORTH_IT * chosen and size not in timed else None


def sharing(global_batch: int | None, **options: Any) -> Callable[[int], GlobalBatch] | None:
    """``for_global_batch`` with everything but the size of a card, which a probe finds; None where none is wanted."""
    if global_batch is None:
        return None
    return lambda batch_size: for_global_batch(batch_size, global_batch, **options)


def for_global_batch(
    batch_size: int,
    global_batch: int,
    world_size: int,
    *,
    multiple_of: int = 1,
    learning_rate: float | None = None,
    learning_rate_batch: int | None = None,
    scaling: str = "linear",
) -> GlobalBatch:
    """The fewest accumulation steps with at most ``batch_size`` samples a card and exactly ``global_batch`` a step.

    ``learning_rate`` was right for a global batch of ``learning_rate_batch``; it is scaled linearly (Goyal et al.,
    arXiv:1706.02677) or by the square root (Hoffer et al., arXiv:1705.08741). Raises GaudiError where no size fits.
    """
    if min(batch_size, global_batch, world_size, multiple_of) < 1:
        raise GaudiError("batch size, global batch, world size and multiple_of must be at least 1.")
    if global_batch % world_size:
        lower = global_batch // world_size * world_size
        near = f"{lower} or {lower + world_size}" if lower else str(world_size)
        raise GaudiError(
            f"A global batch of {global_batch} cannot be divided evenly by {world_size} cards; use {near}."
        )
    a_card = global_batch // world_size
    sizes = [size for size in range(multiple_of, min(batch_size, a_card) + 1, multiple_of) if a_card % size == 0]
    if not sizes:
        raise GaudiError(
            f"A global batch of {global_batch} is {a_card} samples per card, which no multiple of {multiple_of} up to "
            f"{batch_size} divides; change the global batch, or lower multiple_of."
        )
    rate = _scaled(learning_rate, learning_rate_batch, global_batch, scaling)
    return GlobalBatch(global_batch, world_size, sizes[-1], a_card // sizes[-1], rate)


def _scaled(rate: float | None, base: int | None, global_batch: int, scaling: str) -> float | None:
    if scaling not in SCALINGS:
        raise GaudiError(f"learning-rate scaling {scaling!r} is not known; choose {', '.join(SCALINGS)}.")
    if rate is None or scaling == "none":
        return rate
    if base is None or base < 1:
        raise GaudiError("the learning rate cannot be scaled; give the global batch for which it was chosen.")
    times = global_batch / base
    return rate * (times if scaling == "linear" else math.sqrt(times))
