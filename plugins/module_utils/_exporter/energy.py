# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Energy from power that is sampled: how much, and how long nobody knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Of the usual time between samples: one that came late is near enough, one that was left out is not.
NEAR = 2.5
# What that comes to at the interval that is usual. hl-smi takes seconds, also where it is asked each second.
NEAR_SECONDS = 25.0


@dataclass(frozen=True)
class Energy:
    """Of one card, since its first sample. ``watts`` at ``time`` (Unix time) is the last that was known."""

    joules: float = 0.0
    gap_seconds: float = 0.0
    time: float = 0.0
    watts: float | None = None


def after(before: Energy, watts: float | None, time: float, interval: float) -> Energy:
    """With one sample more: the mean of two that are near each other, for the time between them.

    A sample without a value, a clock that went back, and a time between samples that is long count as a gap.
    """
    passed = time - before.time
    if not before.time or passed < 0:
        return Energy(before.joules, before.gap_seconds, time, watts)
    if watts is None or before.watts is None or passed > max(NEAR * interval, NEAR_SECONDS):
        return Energy(before.joules, before.gap_seconds + passed, time, watts)
    return Energy(before.joules + passed * (watts + before.watts) / 2, before.gap_seconds, time, watts)


def from_data(data: Mapping[str, Any]) -> Energy:
    """What was kept; anew where it is none of ours."""
    try:
        watts = data["watts"]
        known = None if watts is None else float(watts)
        return Energy(float(data["joules"]), float(data["gap_seconds"]), float(data["time"]), known)
    except (KeyError, TypeError, ValueError):
        return Energy()
