# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The largest batch size that runs, found by trying sizes; pure but for the trials themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Iterator

from .errors import GaudiError

OK = "ok"
OUT_OF_MEMORY = "out_of_memory"
CRASH = "crash"
HANG = "hang"
WORKLOAD_ERROR = "workload_error"


@dataclass(frozen=True)
class Trial:
    """What one batch size did. ``message`` says why it was not ok; None where nothing was measured."""

    batch_size: int
    outcome: str
    peak_memory_bytes: int | None = None
    step_seconds: float | None = None
    message: str = ""


@dataclass(frozen=True)
class Search:
    """The answer, which is always the size of a trial that ran, and all trials in the order they were made."""

    batch_size: int
    trials: tuple[Trial, ...]


TryBatch = Callable[[int], Trial]


def largest_batch(try_batch: TryBatch, *, maximum: int, multiple_of: int = 1) -> Search:
    """The largest multiple of ``multiple_of`` up to ``maximum`` that runs.

    Doubles from the smallest multiple until a size runs out of memory or the maximum is reached, then halves the gap.
    The maximum is tried before it is returned: Lightning 2.6.6 returns it untried (``lightning/pytorch/tuner``).
    At most 2 * ceil(log2(maximum / multiple_of)) + 1 trials.

    Raises GaudiError, with the trials so far, when the bounds hold no size, when the smallest size does not fit,
    and when a trial ends in any other way than ok or out of memory: such a trial says nothing about memory.
    """
    units = _units(maximum, multiple_of)
    trials: list[Trial] = []

    def fits(count: int) -> bool:
        trial = try_batch(count * multiple_of)
        trials.append(trial)
        if trial.outcome not in (OK, OUT_OF_MEMORY):
            raise GaudiError(_broken(trial), trials=[vars(one) for one in trials])
        return trial.outcome == OK

    fitting, limit = 0, units + 1
    for count in _doublings(units):
        if not fits(count):
            limit = count
            break
        fitting = count
    while limit - fitting > 1 and fitting:
        middle = (fitting + limit) // 2
        if fits(middle):
            fitting = middle
        else:
            limit = middle
    if not fitting:
        raise GaudiError(_too_large(trials[0]), trials=[vars(one) for one in trials])
    return Search(fitting * multiple_of, tuple(trials))


def _units(maximum: int, multiple_of: int) -> int:
    if multiple_of < 1:
        raise GaudiError(f"multiple_of is {multiple_of}; give a whole number of at least 1.")
    if maximum < multiple_of:
        raise GaudiError(
            f"maximum {maximum} holds no multiple of {multiple_of}; raise maximum to {multiple_of} or more, "
            "or lower multiple_of."
        )
    return maximum // multiple_of


def _doublings(units: int) -> Iterator[int]:
    count = 1
    while count < units:
        yield count
        count *= 2
    yield units


def _broken(trial: Trial) -> str:
    what = {
        CRASH: "crashed",
        HANG: "did not end",
        WORKLOAD_ERROR: "could not run the workload",
    }.get(trial.outcome, f"ended with the unknown outcome {trial.outcome!r}")
    return f"The trial of batch size {trial.batch_size} {what}: {trial.message}"


def _too_large(trial: Trial) -> str:
    return (
        f"Batch size {trial.batch_size}, the smallest allowed, already runs out of memory ({trial.message}); "
        "use a shorter sequence, a smaller model or activation checkpointing, or lower multiple_of."
    )
