# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which run comes next; pure. It is decided from the runs alone, so a comparison that was interrupted goes on."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Sequence

from .._batch.search import CRASH, HANG, OK
from .comparison import BASE, Comparison
from .intervals import Interval, paired_ratio

# Runs of no round: the base alone, to see that it runs at all, and that a card still works.
REHEARSAL = 0


@dataclass(frozen=True)
class Run:
    """One process. ``step_seconds`` is the median of its steps, ``loss`` the mean of theirs; None: not measured.

    ``used_by_others_bytes`` of the card's memory were in use before it, where that is worth a word.
    """

    round: int
    name: str
    outcome: str
    step_seconds: float | None = None
    peak_memory_bytes: int | None = None
    loss: float | None = None
    message: str = ""
    used_by_others_bytes: int | None = None


def next_run(runs: Sequence[Run], comparison: Comparison) -> tuple[int, str] | None:
    """Round and name; None when all is measured, or narrow enough at a look.

    A setting that failed once is left out from then on. After a crash or a hang the base runs alone, since either can
    leave a card unusable, and the settings after it would get the blame.
    """
    if not runs or (runs[-1].name != BASE and runs[-1].outcome in (CRASH, HANG)):
        return REHEARSAL, BASE
    failed = {run.name for run in runs if run.outcome != OK}
    if failed >= set(comparison.names[1:]):
        return None
    made = {(run.round, run.name) for run in runs}
    # A round begins only when the one before is over.
    latest = max(run.round for run in runs)
    for number in range(max(1, latest), comparison.rounds + 1):
        for name in order(number, comparison):
            if name not in failed and (number, name) not in made:
                return number, name
        if number in comparison.looks and is_narrow(runs, number, comparison):
            return None
    return None


def order(number: int, comparison: Comparison) -> list[str]:
    """A round's order: another one each time, so that nobody is always first, and the same in every repetition."""
    names = comparison.names
    random.Random(f"{comparison.seed} {number}").shuffle(names)
    return names


def is_narrow(runs: Sequence[Run], rounds: int, comparison: Comparison) -> bool:
    """Whether each interval of the settings that still run is as narrow as was asked."""
    failed = {run.name for run in runs if run.outcome != OK}
    intervals = [
        speed([run for run in runs if run.round <= rounds], name, comparison)
        for name in comparison.names[1:]
        if name not in failed
    ]
    return all(one is not None and one.high - one.low <= 2 * comparison.precision for one in intervals)


def speed(runs: Sequence[Run], name: str, comparison: Comparison) -> Interval | None:
    """Samples a second, of the base's; above 1 is faster."""
    times = step_times(runs, name)
    if times is None:
        return None
    of_setting, of_base = times
    work = comparison.samples_of(name) / comparison.samples_of(BASE)
    return paired_ratio([work * seconds for seconds in of_base], of_setting, comparison.level)


def step_times(runs: Sequence[Run], name: str) -> tuple[list[float], list[float]] | None:
    """Seconds a step of the setting and of the base in the rounds that have both; None where a time is missing."""
    pairs = paired(runs, name)
    found = [(setting.step_seconds, base.step_seconds) for setting, base in pairs]
    times = [(setting, base) for setting, base in found if setting and base]
    if len(times) < len(pairs):
        return None
    return [setting for setting, _base in times], [base for _setting, base in times]


def paired(runs: Sequence[Run], name: str) -> list[tuple[Run, Run]]:
    """The runs of a setting and of the base, round by round."""
    by_place = {(run.round, run.name): run for run in runs if run.round != REHEARSAL and run.outcome == OK}
    return [
        (run, by_place[number, BASE])
        for (number, of), run in sorted(by_place.items())
        if of == name and (number, BASE) in by_place
    ]
