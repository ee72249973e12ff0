# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The largest batch size that trains, in few trials: which size to try next, or the answer; pure.

``next_step`` decides from the trials alone, so a probe that was interrupted goes on from those it had. An answer is
always the size of a trial that ran and that left the margin free. Constants were held against simulated workloads
(``benchmarks/batch_search.py``); its counts move by a few per cent when any of them does.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Callable, Sequence, Union

from .._errors import GaudiError
from .bounds import Answer, Bounds, Try
from .memory_model import SPREAD_RESERVE, Readings
from .next_size import Gap, next_size
from .refusals import ignores_the_batch, too_large, too_unsteady
from .way import Way

OK = "ok"
OUT_OF_MEMORY = "out_of_memory"
CRASH = "crash"
HANG = "hang"
WORKLOAD_ERROR = "workload_error"

# With nothing known: what most workloads fit, and with a peak that says more than that of one sample.
FIRST_SIZE = 2
# What a small peak spreads, by pieces that the batch has nothing to do with, is no part of one so many times as large.
TELLING = 0.5
# A batch so many times larger moves the peak of any workload that reads it, or at least makes a step longer.
IGNORED_TIMES = 16


@dataclass(frozen=True)
class Trial:
    """What one batch size did. ``message`` says why it was not ok; None where nothing was measured.

    ``resting_memory_bytes`` is in use between two steps, ``peak_spread_bytes`` how far apart the peaks of single steps
    were after those to warm up, ``limit_bytes`` what the device had for this process, ``used_by_others_bytes`` what
    others had of it before, ``held_memory_bytes`` what Synapse reports of the card after the steps, which has also what
    PyTorch does not count. ``seconds_of_steps`` and ``losses`` are of the steps after those to warm up, in order.
    """

    batch_size: int
    outcome: str
    peak_memory_bytes: int | None = None
    step_seconds: float | None = None
    message: str = ""
    resting_memory_bytes: int | None = None
    peak_spread_bytes: int | None = None
    limit_bytes: int | None = None
    used_by_others_bytes: int | None = None
    seconds_of_steps: tuple[float, ...] = ()
    losses: tuple[float, ...] = ()
    warm_up_seconds: float | None = None
    held_memory_bytes: int | None = None


@dataclass(frozen=True)
class Search:
    """The answer and all trials in the order they were made."""

    answer: Answer
    trials: tuple[Trial, ...]

    @property
    def batch_size(self) -> int:
        return self.answer.batch_size


def largest_batch(
    try_batch: Callable[[int], Trial],
    bounds: Bounds,
    trials: Sequence[Trial] = (),
    reported: Callable[[Trial], None] = lambda _trial: None,
    decide: Callable[[Sequence[Trial], Bounds], Union[Try, Answer]] | None = None,
) -> Search:
    """Try sizes until there is an answer; goes on from ``trials``, and tells each further one.

    ``decide`` may look for another size than the largest, in the place of ``next_step``. Raises GaudiError, with the
    trials so far, where it does.
    """
    made = list(trials)
    while True:
        try:
            step = (decide or next_step)(made, bounds)
        except GaudiError as error:
            raise GaudiError(str(error), **{**error.facts, "trials": [asdict(trial) for trial in made]}) from None
        if isinstance(step, Answer):
            return Search(step, tuple(made))
        made.append(try_batch(step.batch_size))
        reported(made[-1])


def next_step(trials: Sequence[Trial], bounds: Bounds) -> Union[Try, Answer]:
    """The size to try after these trials, or the answer. Sizes that the bounds do not allow count for nothing.

    Raises GaudiError when the bounds hold no size, when the smallest does not fit, when the peak does not move with
    the batch, and when a trial ended in any other way than ok or out of memory: such a trial says nothing about memory.
    """
    bounds.check()
    for trial in trials:
        if trial.outcome not in (OK, OUT_OF_MEMORY):
            raise GaudiError(_broken(trial))
    failed = [trial for trial in trials if trial.outcome == OUT_OF_MEMORY and bounds.allows(trial.batch_size)]
    top = min((trial.batch_size for trial in failed), default=bounds.largest + bounds.multiple_of)
    # What ran at or above a size that failed does not always run. Of two trials of a size the larger peak counts.
    by_peak = sorted(
        (trial for trial in trials if trial.outcome == OK and bounds.allows(trial.batch_size)),
        key=lambda trial: trial.peak_memory_bytes or 0,
    )
    good = sorted(
        {trial.batch_size: trial for trial in by_peak if trial.batch_size < top}.values(),
        key=lambda trial: trial.batch_size,
    )
    if not good:
        return _start(failed, bounds)
    memory = _memory(good, bounds)
    if memory is None:
        return _by_halves(good[-1].batch_size, top, bool(failed), bounds)
    return _by_readings(good, top, memory, bool(failed), bounds)


def _start(failed: Sequence[Trial], bounds: Bounds) -> Try:
    """Nothing ran yet."""
    lowest = min(failed, key=lambda trial: trial.batch_size, default=None)
    reported = [trial.limit_bytes for trial in failed]
    if lowest is not None and lowest.batch_size == bounds.smallest:
        raise GaudiError(too_large(bounds.smallest, lowest, bounds.limit(reported), bounds.prior))
    limit = bounds.first_limit(reported)
    if bounds.prior is not None and limit is not None:
        if lowest is None:
            size = bounds.prior.end(bounds.prior.fits(limit * bounds.target_hpu_utilization * (1 - bounds.margin)))
            return Try(bounds.down(size), "fits according to the estimate made on the host")
        if len(failed) == 1:
            return Try(bounds.down(lowest.batch_size / 4), "a quarter of the estimate's error")
    if lowest is None:
        return Try(bounds.down(max(bounds.smallest, FIRST_SIZE)), "a small size, for a first reading")
    return Try(bounds.smallest, "the smallest size, since a larger one ran out of memory")


@dataclass(frozen=True)
class _Memory:
    """``whole`` bytes may be used, ``usable`` of them be filled; resting bytes; noise as a part of a peak."""

    whole: float
    usable: float
    resting: float
    noise: float


def _memory(good: Sequence[Trial], bounds: Bounds) -> _Memory | None:
    """None where the limit is not known, or a trial did not measure its peak."""
    limit = bounds.limit([trial.limit_bytes for trial in good])
    if limit is None or not all(trial.peak_memory_bytes for trial in good):
        return None
    whole = limit * bounds.target_hpu_utilization
    resting = float(max(trial.resting_memory_bytes or 0 for trial in good))
    noise = _noise(good)
    reserve = max(bounds.margin * max(whole - resting, 0), SPREAD_RESERVE * noise * whole)
    return _Memory(whole, whole - reserve, resting, noise)


def _noise(good: Sequence[Trial]) -> float:
    """How far the peaks of a size lie apart, as a part of them; small peaks say too much of it beside large ones."""
    largest = max(trial.peak_memory_bytes or 0 for trial in good)
    telling = [trial for trial in good if (trial.peak_memory_bytes or 0) >= TELLING * largest]
    return max((trial.peak_spread_bytes or 0) / (trial.peak_memory_bytes or 1) for trial in telling)


def _by_readings(good: Sequence[Trial], top: int, memory: _Memory, failed: bool, bounds: Bounds) -> Union[Try, Answer]:
    multiple = bounds.multiple_of
    peaks = {trial.batch_size: float(trial.peak_memory_bytes or 0) for trial in good}
    readings = Readings.of(list(peaks.items()), memory.resting, memory.noise, bounds.prior)
    way = Way.of(readings, memory.usable, memory.whole, top if failed else None)
    failed_top = top
    top = min([top, *(size for size, peak in peaks.items() if peak > memory.usable)])
    inside = [size for size in peaks if size < top]
    if not inside:
        return _below_the_first(good[0], top, way.cautious, memory, bounds)
    size = inside[-1]
    hopeful = min(float(top - multiple), way.hopeful)
    # No answer is nearer to the limit than the peaks are to each other.
    near = max(bounds.tolerance, memory.noise)
    if bounds.down(hopeful) > size and size < (1 - near) * hopeful:
        step = next_size(way, Gap(size, hopeful, failed_top, failed), bounds)
        if step is not None:
            return step
    if not failed:
        _check_that_it_moves(good, readings, memory)
    return _answer(size, top, failed_top, way.most(memory.usable), way.most(memory.whole), bounds)


def _below_the_first(first: Trial, top: int, cautious: float, memory: _Memory, bounds: Bounds) -> Union[Try, Answer]:
    """The smallest size that ran took more than may be filled."""
    size = first.batch_size
    if size > bounds.smallest:
        return Try(min(bounds.down(cautious), top - bounds.multiple_of), "fits according to the first reading")
    peak = first.peak_memory_bytes or 0
    if peak * (1 + SPREAD_RESERVE * memory.noise) > memory.whole:
        raise GaudiError(too_unsteady(size, peak, memory.noise, memory.whole))
    return Answer(size, True, None, f"{size} leaves less memory free than the margin, and no smaller size is allowed")


def _by_halves(size: int, top: int, failed: bool, bounds: Bounds) -> Union[Try, Answer]:
    """Without the peaks or the limit only the failures tell: doubles until one, then halves what is between."""
    last = top - bounds.multiple_of
    if size >= last * (1 - bounds.tolerance):
        return _answer(size, top, top, math.inf, math.inf, bounds)
    if not failed:
        return Try(min(bounds.down(size * 2), last), "twice the size, since the memory's limit is not known")
    return Try(max(bounds.down((size + top) / 2), size + bounds.multiple_of), "halfway to a size that failed")


def _check_that_it_moves(good: Sequence[Trial], readings: Readings, memory: _Memory) -> None:
    """Raises GaudiError where a much larger batch took neither more memory nor more time."""
    small, large = good[0], good[-1]
    counted = readings.filled().points
    if counted[-1][0] < IGNORED_TIMES * counted[0][0] or not readings.flat(memory.usable):
        return
    # A step of a few milliseconds may take twice as long for no reason; a batch that is read makes itself felt.
    longer = math.sqrt(large.batch_size / small.batch_size)
    if small.step_seconds and large.step_seconds and large.step_seconds > longer * small.step_seconds:
        return
    raise GaudiError(ignores_the_batch(small.batch_size, large.batch_size, large.peak_memory_bytes or 0))


def _answer(size: int, top: int, failed_top: int, most: float, most_without_margin: float, bounds: Bounds) -> Answer:
    following = size + bounds.multiple_of
    last = min(float(failed_top - bounds.multiple_of), max(most_without_margin, size))
    within = 1 - size / last
    if following > bounds.largest:
        return Answer(size, True, 0.0, f"{size} is the largest size allowed")
    if following >= failed_top:
        return Answer(size, True, within, f"{following} was tried and ran out of memory")
    if following >= top:
        return Answer(size, True, within, f"{following} was tried and left less memory free than the margin")
    if following > most:
        return Answer(size, True, within, f"{following} is excluded by the measured growth of the peak memory")
    return Answer(
        size, False, within, f"at most {math.floor(last)} can fit, given the measured growth of the peak memory"
    )


def _broken(trial: Trial) -> str:
    what = {
        CRASH: "crashed",
        HANG: "did not finish",
        WORKLOAD_ERROR: "could not run the workload",
    }.get(trial.outcome, f"returned the unknown outcome {trial.outcome!r}")
    return f"The trial of batch size {trial.batch_size} {what}: {trial.message}"
