# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What became of a job after a fault, from the steps that its ranks have written."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

GOES_ON = "goes on"
UNNOTICED = "not noticed, old ranks step on"
STANDS_STILL = "stands still"
DEAD = "job dead"
# All ranks finish a step within so long of each other; no engine starts new ones sooner.
TOGETHER_S = 0.5
# A step takes a tenth of a second; ranks that made none for so long make none.
STILL_S = 5.0


@dataclass(frozen=True)
class Step:
    """Step ``number`` was finished by process ``pid`` at ``time`` (seconds since 1970)."""

    time: float
    number: int
    pid: int


@dataclass(frozen=True)
class Outcome:
    """Seconds from the fault until no old rank that could run was there, and to the first step of a new one.

    None: not while it was watched. ``stale``: steps that old ranks finished after the first of a new one. ``end``: what
    became of the job. It goes on where new ranks step, also beside old ones. ``pause``: the longest time after the
    fault in which no rank finished a step. ``named``: seconds to the line that first names the lost rank or node, which
    is ``said``. ``lost``: steps that were done, and had to be done again.
    """

    gone: float | None
    first: float | None
    stale: int
    end: str
    pause: float = field(default=0.0, compare=False)
    named: float | None = field(default=None, compare=False)
    said: str = field(default="", compare=False)
    lost: int | None = field(default=None, compare=False)


def read_steps(text: str) -> list[Step]:
    """All whole lines; a rank that was killed may have left half of one."""
    found = []
    for line in text.split("\n")[:-1]:
        try:
            reported = json.loads(line)
            found.append(Step(float(reported["time"]), int(reported["step"]), int(reported["pid"])))
        except (ValueError, KeyError, TypeError):
            continue
    return found


def first_of_new(steps: Sequence[Step], old: Collection[int]) -> Step | None:
    """The first step by a process that is none of the ``old`` ones."""
    return min((step for step in steps if step.pid not in old), key=lambda step: step.time, default=None)


def judge(
    steps: Sequence[Step], old: Collection[int], fault: float, gone: float | None, until: float, running: bool
) -> Outcome:
    """``old``: the ranks at the time of the fault. ``gone``: when they were. ``running``: whether any rank is there
    now, ``until``. All times are seconds since 1970.
    """
    first = first_of_new(steps, old)
    stale = [step for step in steps if first is not None and step.pid in old and step.time > first.time]
    last = max((step.time for step in steps), default=0.0)
    if first is not None:
        end = GOES_ON
    elif last > until - STILL_S:
        end = UNNOTICED
    else:
        end = STANDS_STILL if running else DEAD
    return Outcome(
        None if gone is None else gone - fault,
        None if first is None else first.time - fault,
        len(stale),
        end,
        longest_pause([step.time for step in steps], fault, until),
        lost=None if first is None else lost_before(first, steps, old),
    )


def lost_before(first: Step, steps: Sequence[Step], old: Collection[int]) -> int:
    """How many of the steps that ``old`` ranks had finished are done again by new ones, whose first one this is."""
    done = [step.number for step in steps if step.pid in old and step.time < first.time - TOGETHER_S]
    return max(0, max(done, default=0) - first.number + 1)


def longest_pause(times: Sequence[float], fault: float, until: float) -> float:
    """Seconds between two of these after the fault, or to what is just now."""
    after = sorted(moment for moment in times if fault < moment < until)
    return max(second - first for first, second in zip([fault, *after], [*after, until]))
