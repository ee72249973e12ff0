# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A verdict and a trace as lines for people."""

from __future__ import annotations

from typing import Any

from .trace_summary import TraceSummary
from .verdict import Cause, Verdict


def verdict_lines(verdict: Verdict) -> list[str]:
    """What it is, what shows it, and what to do next."""
    seen = f"{verdict.steps} steps of {verdict.seconds * 1e3:.1f} ms, {verdict.ranks} of {verdict.world_size} ranks"
    notes = [f"Note: {note}." for note in verdict.notes]
    if verdict.missing:
        return [f"Not enough seen: {verdict.missing}.", *notes]
    return [seen, *(line for cause in verdict.causes for line in _cause(cause)), *notes]


def _cause(cause: Cause) -> list[str]:
    return [f"{cause.share:4.0%}  {cause.said}", f"      {cause.evidence}", f"      next: {cause.next}"]


def verdict_data(verdict: Verdict) -> dict[str, Any]:
    """For programs: plain values, the same keys always."""
    causes = [{**vars(cause), "ranks": list(cause.ranks), "share": round(cause.share, 4)} for cause in verdict.causes]
    return {**vars(verdict), "seconds": round(verdict.seconds, 6), "causes": causes, "notes": list(verdict.notes)}


def trace_lines(summary: TraceSummary) -> list[str]:
    """A step of the trace by what was at work."""
    whole = summary.seconds or 1.0
    parts = {
        "computing": summary.computed,
        "moving bytes": summary.moved,
        "waiting for other ranks": summary.communication,
        "waiting for data": summary.data,
        "nothing at work": summary.gap,
    }
    rows = "rows of a card" if summary.has_card else "the host's operations"
    steps = f"{summary.steps} step{'s' if summary.steps != 1 else ''} in " if summary.steps else ""
    first = f"{steps}{summary.seconds * 1e3:.1f} ms, {summary.events:,} events, from {rows}"
    shares = [f"{seconds / whole:4.0%}  {name}" for name, seconds in parts.items()]
    return [first, *shares, *(f"{spent * 1e3:9.1f} ms  {name}" for name, spent in summary.top)]


def trace_data(summary: TraceSummary) -> dict[str, Any]:
    pairs = {name: [list(pair) for pair in getattr(summary, name)] for name in ("top", "top_moves")}
    return {**vars(summary), **pairs}
