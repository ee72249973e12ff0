# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Outcomes as a table of Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from benchmarks.survival.steps import GOES_ON, Outcome


def table(
    faults: Sequence[str],
    engines: Mapping[str, str],
    outcomes: Mapping[tuple[str, str], Sequence[Outcome]],
    cells: Mapping[str, Callable[[Sequence[Outcome]], str]],
) -> str:
    """A row a fault, a column an engine; ``engines`` says of each why it could not be run, or nothing. ``cells``: what
    fills an engine's column, where it is not :func:`cell`.
    """
    rows = [
        ["fault", *engines],
        ["---"] * (1 + len(engines)),
        *(
            [
                fault,
                *(
                    refusal or cells.get(engine, cell)(outcomes.get((fault, engine), ()))
                    for engine, refusal in engines.items()
                ),
            ]
            for fault in faults
        ),
    ]
    return "\n".join(f"| {' | '.join(word.replace('|', '/') for word in row)} |" for row in rows)


def pause(outcomes: Sequence[Outcome]) -> str:
    """Where the ranks that are left go on: the median of the longest time without a step, and of the first step of the
    rank that was started again, where one was."""
    if not outcomes:
        return "-"
    first = [outcome.first for outcome in outcomes if outcome.first is not None]
    longest = statistics.median(outcome.pause for outcome in outcomes)
    return f"{longest:.1f} / {f'{statistics.median(first):.1f}' if first else 'not started again'}"


def cell(outcomes: Sequence[Outcome]) -> str:
    """Medians of "old ranks gone / first new step" in seconds over the runs in which the job went on."""
    if not outcomes:
        return "-"
    well = [outcome for outcome in outcomes if outcome.end == GOES_ON]
    others = sorted({outcome.end for outcome in outcomes if outcome.end != GOES_ON})
    if not well:
        return "; ".join(others)
    gone = [outcome.gone for outcome in well if outcome.gone is not None]
    first = statistics.median(outcome.first for outcome in well if outcome.first is not None)
    left = len(well) - len(gone)
    words = [f"{f'not gone in {left} of {len(well)}' if left else f'{statistics.median(gone):.1f}'} / {first:.1f}"]
    if others:
        words.append(f"in {len(well)} of {len(outcomes)}, else {'; '.join(others)}")
    stale = sum(outcome.stale > 0 for outcome in well)
    if stale:
        words.append(f"**old ranks stepped beside new ones in {stale} of {len(outcomes)}**")
    return ", ".join(words)


def named_and_lost(outcomes: Sequence[Outcome]) -> str:
    """Medians of "seconds until the lost rank or node is named / steps that are done again"."""
    if not outcomes:
        return "-"
    named = [outcome.named for outcome in outcomes if outcome.named is not None]
    lost = [outcome.lost for outcome in outcomes if outcome.lost is not None]
    words = f"{statistics.median(named):.1f}" if named else "not named"
    if named and len(named) < len(outcomes):
        words = f"{words} in {len(named)} of {len(outcomes)}"
    return f"{words} / {f'{statistics.median(lost):g}' if lost else '-'}"
