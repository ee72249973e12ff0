# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""When a probe trial has made enough steps: optimizer state, and what libraries keep, appear late; pure."""

from __future__ import annotations

from typing import Sequence

# After those to warm up a trial makes at most so many steps, unless more were asked for.
MOST_STEPS = 10
# It ends when the peak has not risen for so many, or sooner, when two in a row are as high as any.
QUIET_STEPS = 3
# Peaks that are this near are the same, as a part of the memory that there is.
SAME = 0.002


def is_quiet(peaks: Sequence[float], limit: float | None) -> bool:
    """Whether further steps would tell nothing new about the peak."""
    highest = max(peaks)
    near = SAME * (limit or highest)
    if len(peaks) >= 2 and min(peaks[-2:]) >= highest - near:
        return True
    earlier = peaks[:-QUIET_STEPS]
    return bool(earlier) and max(earlier) >= highest - near
