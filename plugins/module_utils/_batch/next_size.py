# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The size between what ran and what could fit that is tried next; pure.

With an estimate of the host, or where the readings show the steps that a peak comes in, a trial goes only as far as
everything fits that they allow. Without either, nothing tells how the peak goes on: there each trial goes so far that
few are needed, and some may run out of memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from .bounds import Bounds, Try
from .memory_model import FIRST, FLAT, LINE, OPEN
from .way import Way

# Where the readings do not say yet how the peak grows, one trial goes at most so many times further.
LONGEST_JUMP = 10
# Of the size that should fit and the one that could, the first is taken when it is this near to the second,
NEAR = 0.8
# or so many times what ran, where that is enough to learn from.
GETS_ON = 1.3
FEW_TIMES = 3
# With an estimate or steps known, an answer of this part of what could fit without the margin is near enough: a further
# trial costs more than it gains.
WORTH_IT = 0.95
# So a trial goes to this part of what should fit without the margin, and not nearer to where it runs out of memory.
ENOUGH = 0.97


@dataclass(frozen=True)
class Gap:
    """From ``size``, which ran, to ``hopeful``, above which nothing can fit.

    ``top`` ran out of memory if a trial ``failed``; else it is the first size that is not allowed.
    """

    size: int
    hopeful: float
    top: int
    failed: bool


def next_size(way: Way, gap: Gap, bounds: Bounds) -> Try | None:
    """None where no trial is worth it."""
    if way.estimated and gap.size >= WORTH_IT * min(way.without_margin, gap.top - 1):
        return None
    following = gap.size + bounds.multiple_of
    if gap.failed and way.cautious >= gap.top > following:
        middle = max(bounds.down(math.sqrt(gap.size * gap.top)), following)
        return Try(middle, "halfway to a size that ran out of memory although it should have fit")
    if way.surely_known:
        return _surely(way, gap, bounds)
    wanted = bounds.down(min(way.cautious, gap.hopeful))
    if wanted > FEW_TIMES * gap.size and way.steady and way.reach.known != FLAT:
        return Try(wanted, way.why)
    return _hopefully(way, gap, bounds)


def _surely(way: Way, gap: Gap, bounds: Bounds) -> Try | None:
    """As far as everything that the estimate and the readings allow fits; None where no trial is worth it."""
    if way.blocked:
        return None
    following = gap.size + bounds.multiple_of
    following = max(following, bounds.down(min(way.filled(following), gap.hopeful)))
    enough = math.inf
    if way.estimated and way.steady:
        enough = ENOUGH * way.likely_without_margin + bounds.multiple_of
    wanted = bounds.down(min(way.cautious, gap.hopeful, enough))
    if way.as_estimated and max(wanted, following) < gap.size * (1 + max(bounds.tolerance, way.readings.noise)):
        return None
    if wanted >= following or way.likely >= following:
        return Try(max(wanted, following), way.why)
    return _where_stuck(way, gap, bounds)


def _where_stuck(way: Way, gap: Gap, bounds: Bounds) -> Try | None:
    """Nothing larger surely fits, and something larger may: None where no trial is worth it."""
    if gap.size >= WORTH_IT * gap.hopeful:
        return None
    if way.between is not None:
        low, high = way.between
        middle = bounds.down((low + high) / 2)
        if low < middle < high:
            return Try(middle, "between two peaks, to tell steps from a slope")
    if not gap.failed and not way.estimated:
        return Try(
            bounds.down(min(2 * gap.size, gap.hopeful)), "twice the size, since nothing tells how the peak grows"
        )
    return None


def _hopefully(way: Way, gap: Gap, bounds: Bounds) -> Try:
    """Between ``size``, which ran, and ``hopeful``. Each trial has to get on, and one failure has to be enough."""
    reach = replace(way.reach, cautious=min(way.reach.cautious, gap.hopeful), hopeful=gap.hopeful)
    least = max(gap.size + bounds.multiple_of, math.ceil(gap.size * (1 + bounds.tolerance)))
    enough = gap.failed or reach.known == OPEN or reach.hopeful < FEW_TIMES * reach.cautious
    if reach.known in (FIRST, LINE) or reach.cautious >= NEAR * reach.hopeful:
        wanted, why = reach.cautious, "the size at which the readings predict full memory"
    elif enough and reach.cautious > GETS_ON * gap.size:
        wanted, why = reach.cautious, "fits even if the peak starts to grow from here"
    else:
        wanted = min(math.sqrt(max(reach.cautious, gap.size) * reach.hopeful), float(gap.size * LONGEST_JUMP))
        why = "between the sizes that should fit and could fit"
    if bounds.down(wanted) < least:
        wanted, why = min(float(least), reach.hopeful), "the next size, since no reading rules it out"
    return Try(max(bounds.down(wanted), gap.size + bounds.multiple_of), why)
