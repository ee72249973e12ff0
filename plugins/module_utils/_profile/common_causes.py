# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What slows all ranks alike: data, compiling, the exchange of gradients, moved bytes, the host."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Mapping, Optional, Sequence

from .records import RankRecord
from .rules import BUSY_CARD, COMMUNICATION, COMPILE, DATA, HOST, MEMORY, TRACED_EVENT
from .side_by_side import Measured, typical
from .stragglers import Behind
from .trace_summary import TraceSummary


@dataclass(frozen=True)
class Finding:
    """``seconds`` a step of this cause."""

    word: str
    seconds: float
    evidence: str


def common_causes(
    records: Sequence[RankRecord],
    measured: Measured,
    traces: Mapping[int, TraceSummary],
    slow: Sequence[Behind],
    exchange: float,
) -> list[Finding]:
    """All of them, notable or not. ``exchange`` is what the ranks wait for gradients with sound links."""
    data, compiled = _typical(measured, "data"), _typical(measured, "compile")
    found = [
        Finding(DATA, data, f"even the ranks that wait least get a batch after {_ms(data)} of {_ms(measured.seconds)}"),
        Finding(COMPILE, compiled, f"{_ms(compiled)} a step, in steps after the warm-up"),
        Finding(
            COMMUNICATION, exchange, f"even the last rank of a step waits {_ms(exchange)} of {_ms(measured.seconds)}"
        ),
    ]
    inside = _inside(records, measured, traces, slow)
    stalled = typical([record.stalled / max(1, len(record.steps)) for record in records])
    host, card = _typical(measured, "host"), _card_is_busy(measured)
    if inside is None:
        found.append(Finding(HOST, host, f"{_ms(host)} of a step lie between its parts"))
        found.append(Finding(MEMORY, stalled, f"the allocator took {_ms(stalled)} a step"))
        return found
    if not card:
        gaps = max(inside.gap, host)
        evidence = f"in the trace of rank {inside.rank} nothing is at work for {_ms(inside.gap)} of a step"
        found.append(Finding(HOST, gaps, f"{evidence}, and the step clock sees no wait for data or ranks there"))
    names = ", ".join(name for name, _seconds in inside.moves) or "the allocator"
    evidence = f"in the trace of rank {inside.rank} {_ms(inside.moved)} of a step move bytes ({names})"
    found.append(Finding(MEMORY, inside.moved + stalled, evidence))
    return found


@dataclass(frozen=True)
class _Inside:
    """Seconds of an untraced step between and in the operations, as one rank's trace divides it."""

    rank: int
    gap: float
    moved: float
    moves: tuple[tuple[str, float], ...]


def _inside(
    records: Sequence[RankRecord], measured: Measured, traces: Mapping[int, TraceSummary], slow: Sequence[Behind]
) -> Optional[_Inside]:
    """Of the traced rank that is slow least, without what it is slow by."""
    by_rank = {rank: sum(one.seconds for one in slow if rank in one.ranks) for rank in sorted(traces)}
    known = [rank for rank in by_rank if traces[rank].steps and any(record.rank == rank for record in records)]
    if not known:
        return None
    rank = min(known, key=lambda one: by_rank[one])
    record = next(record for record in records if record.rank == rank)
    summary = traces[rank]
    traced = [step for step in record.steps if step.traced][-summary.steps :]
    mine = next(means for means in measured.ranks if means.rank == rank)
    # What tracing itself takes lies between the operations, and so does compiling; the rest of the step is as slow as
    # the machine was in just those steps.
    # The clock knows of waits that have no row in the trace.
    seen = summary.communication / summary.steps
    waited = max(seen, fmean(one.waited for one in traced)) if traced else seen
    own = max(0.0, summary.seconds / summary.steps - waited)
    overhead = min(max(0.0, own - mine.busy), TRACED_EVENT * summary.events / summary.steps)
    compiled = fmean(one.parts.get("compile", 0.0) for one in traced) if traced else 0.0
    pace = mine.busy / (own - overhead) if own > overhead else 0.0
    gap = max(0.0, summary.gap / summary.steps - (waited - seen) - overhead - compiled) * pace
    moved = summary.moved / summary.steps * pace
    # A slow rank's excess is in its gaps first: all that is known of it is the part of the step.
    excess = by_rank[rank]
    return _Inside(rank, max(0.0, gap - excess), max(0.0, moved - max(0.0, excess - gap)), summary.top_moves[:2])


def _card_is_busy(measured: Measured) -> bool:
    """The second witness against an idle card: it is still at work when its host has nothing more to queue."""
    return typical([rank.drain for rank in measured.ranks]) >= BUSY_CARD * measured.seconds


def _typical(measured: Measured, part: str) -> float:
    return typical([rank.parts[part] for rank in measured.ranks])


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"
