# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Energy by the cards' own counter where HLML tells it, or else from power that is sampled: how much, and how long
nobody knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Of the usual time between samples: one that came late is near enough, one that was left out is not.
NEAR = 2.5
# What that comes to at the interval that is usual. hl-smi takes seconds, also where it is asked each second.
NEAR_SECONDS = 25.0
# More than a card takes (_cards/readings.py), and how far the time of a sample is from that of the counter.
MOST_WATTS = 2000.0
CLOCK_SECONDS = 5.0


@dataclass(frozen=True)
class Energy:
    """Of one card, since its first sample. ``watts`` at ``time`` (Unix time) is the last that was known.

    ``counter`` is what the card counted until then, in mJ since its driver was loaded.
    """

    joules: float = 0.0
    gap_seconds: float = 0.0
    time: float = 0.0
    watts: float | None = None
    counter: int | None = None


def after(before: Energy, watts: float | None, time: float, interval: float, counter: int | None = None) -> Energy:
    """With one sample more: what the card counted between the two, however long that was.

    Where it counts from the beginning again, or does not tell: the mean of two samples that are near each other, for
    the time between them. A sample without a value, a clock that went back, and a time between samples that is long
    count as a gap then.
    """
    passed = time - before.time
    if not before.time or passed < 0:
        return Energy(before.joules, before.gap_seconds, time, watts, counter)
    counted = _counted(before.counter, counter, passed)
    if counted is not None:
        return Energy(before.joules + counted, before.gap_seconds, time, watts, counter)
    if watts is None or before.watts is None or passed > max(NEAR * interval, NEAR_SECONDS):
        return Energy(before.joules, before.gap_seconds + passed, time, watts, counter)
    return Energy(before.joules + passed * (watts + before.watts) / 2, before.gap_seconds, time, watts, counter)


def _counted(before: int | None, counter: int | None, passed: float) -> float | None:
    """Joules between two readings of the counter; None where they are none that a card can have used in that time.

    A counter that began again and has passed its old count since is not seen: then less is counted, never more.
    """
    if before is None or counter is None or counter < before:
        return None
    joules = (counter - before) / 1000
    return joules if joules <= MOST_WATTS * (passed + CLOCK_SECONDS) else None


def from_data(data: Mapping[str, Any]) -> Energy:
    """What was kept; anew where it is none of ours."""
    try:
        watts = data["watts"]
        known = None if watts is None else float(watts)
        counter = data.get("counter")
        counted = counter if isinstance(counter, int) else None
        return Energy(float(data["joules"]), float(data["gap_seconds"]), float(data["time"]), known, counted)
    except (KeyError, TypeError, ValueError):
        return Energy()
