# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The steps of all ranks side by side: what each rank needed, and what it waited for others."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Mapping, Sequence

from .records import PARTS, RankRecord, Step
from .rules import FEWEST_STEPS

HOST = "host"
OWN_PARTS = (*PARTS, HOST)


@dataclass(frozen=True)
class RankMeans:
    """Mean seconds a step. ``busy`` is what the rank did itself, ``queued`` what of it it waited for a processor, and
    ``own`` the rest; ``each_own`` is that of each step."""

    rank: int
    node: str
    busy: float
    queued: float
    parts: Mapping[str, float]
    each_own: tuple[float, ...]
    waited: float
    drain: float

    @property
    def own(self) -> float:
        return self.busy - self.queued


@dataclass(frozen=True)
class Measured:
    """``seconds`` of a mean step. ``exchange`` is what even the last rank of a step waited, so that it was for no
    other's work. Where no rank knows its waiting, ``knows_waiting`` is False and ``busy`` is data and forward alone."""

    steps: int
    seconds: float
    exchange: float
    ranks: tuple[RankMeans, ...]
    knows_waiting: bool


def side_by_side(records: Sequence[RankRecord]) -> Measured:
    """Of the steps that all ranks have and none has traced; without the slowest of them, which may be an accident."""
    by_number = [{step.number: step for step in record.steps} for record in records]
    traced = {step.number for record in records for step in record.steps if step.traced}
    numbers = sorted(set.intersection(*(set(steps) for steps in by_number)) - traced) if by_number else []
    if len(numbers) > FEWEST_STEPS:
        numbers.remove(max(numbers, key=lambda number: max(steps[number].seconds for steps in by_number)))
    rows = [[steps[number] for number in numbers] for steps in by_number]
    if not numbers:
        return Measured(0, 0.0, 0.0, (), False)
    alone = len(records) == 1 and records[0].world_size == 1
    knows = alone or all(step.communication is not None for row in rows for step in row)
    exchange = 0.0 if alone or not knows else fmean(min(step.waited for step in column) for column in zip(*rows))
    return Measured(
        len(numbers),
        fmean(step.seconds for row in rows for step in row),
        exchange,
        tuple(_means(record, row, knows) for record, row in zip(records, rows)),
        knows,
    )


def typical(values: Sequence[float]) -> float:
    """What ranks need without a fault: the value at the lower quarter. Of two ranks it is the faster one's."""
    return sorted(values)[(len(values) - 1) // 4]


def _means(record: RankRecord, steps: Sequence[Step], knows: bool) -> RankMeans:
    busy = [_busy(step, knows) for step in steps]
    # On its way to the end of a wait for others it waits for a processor as well.
    queued = [min(step.queued, seconds) for step, seconds in zip(steps, busy)]
    parts = {part: fmean(step.parts.get(part, 0.0) for step in steps) for part in PARTS}
    return RankMeans(
        record.rank,
        record.node,
        fmean(busy),
        fmean(queued),
        {**parts, HOST: fmean(step.host for step in steps) if knows else 0.0},
        tuple(all_of_it - waited for all_of_it, waited in zip(busy, queued)),
        fmean(step.waited for step in steps),
        fmean(step.drain for step in steps),
    )


def _busy(step: Step, knows: bool) -> float:
    own = sum(step.parts.get(part, 0.0) for part in ("data", "forward", "compile"))
    return max(0.0, step.seconds - step.waited) if knows else own
