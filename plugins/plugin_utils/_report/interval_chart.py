# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Ratios with their intervals around a line of no difference (a forest plot), as SVG text.

The axis is logarithmic, so that half as fast and twice as fast are equally far from the line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Sequence

from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_ticks import tick_text, ticks_inside

WIDTH, ROW, LEFT, RIGHT, TOP, BOTTOM = 720, 26, 170, 24, 10, 46
# From this ratio between both ends on, the ticks are the powers of ten.
_WIDE = 30
# A word is readable where it stands across a line.
_HALO = "paint-order: stroke; stroke: var(--paper); stroke-width: 6px"
_LONGEST_LABEL = 26


@dataclass(frozen=True)
class Bar:
    """One line of the chart; its numbers are above 0.

    ``tone`` is plain, good or bad; without an estimate the ``note`` is in its place.
    """

    label: str
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    tone: str = "plain"
    note: str = ""


def interval_chart(bars: Sequence[Bar], *, x_label: str, reference: float = 1.0) -> str:
    """An SVG with one line a bar, from the first down, and an upright line at ``reference``."""
    if not bars:
        return ""
    bounds = _bounds(bars, reference)
    bottom = TOP + ROW * len(bars)
    middle, center = _across(reference, bounds), (LEFT + WIDTH - RIGHT) // 2
    return "\n".join(
        [
            f'<svg viewBox="0 0 {WIDTH} {bottom + BOTTOM}" role="img" aria-label="{escape(x_label)}, with intervals">',
            *(_tick(value, bounds, bottom) for value in _ticks(bounds)),
            f'<line class="mark" x1="{middle:.1f}" x2="{middle:.1f}" y1="{TOP}" y2="{bottom}"/>',
            *(_bar(one, TOP + ROW * (number + 0.5), bounds) for number, one in enumerate(bars)),
            f'<text x="{center}" y="{bottom + BOTTOM - 8}" text-anchor="middle">{escape(x_label)}</text>',
            "</svg>",
        ]
    )


def _bounds(bars: Sequence[Bar], reference: float) -> tuple[float, float]:
    ends = [value for one in bars for value in (one.low, one.estimate, one.high) if value is not None]
    low, high = min([reference, *ends]), max([reference, *ends])
    room = (high / low) ** 0.06 if high > low else 1.01
    return low / room, high * room


def _ticks(bounds: tuple[float, float]) -> list[float]:
    low, high = bounds
    if high / low > _WIDE:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        return [10.0**power for power in powers if low <= 10.0**power <= high]
    return ticks_inside(low, high)


def _across(value: float, bounds: tuple[float, float]) -> float:
    part = math.log(value / bounds[0]) / math.log(bounds[1] / bounds[0])
    return LEFT + part * (WIDTH - LEFT - RIGHT)


def _tick(value: float, bounds: tuple[float, float], bottom: float) -> str:
    x = _across(value, bounds)
    return (
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>'
        f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{tick_text(value)}</text>'
    )


def _bar(one: Bar, y: float, bounds: tuple[float, float]) -> str:
    short = one.label if len(one.label) <= _LONGEST_LABEL else f"{one.label[: _LONGEST_LABEL - 1]}…"
    label = f'<text x="{LEFT - 12}" y="{y + 4:.1f}" text-anchor="end">{escape(short)}</text>'
    if one.estimate is None or one.low is None or one.high is None:
        return (
            f'{label}<text class="{one.tone}" style="{_HALO}" x="{LEFT + 8}" y="{y + 4:.1f}">{escape(one.note)}</text>'
        )
    low, middle, high = (_across(value, bounds) for value in (one.low, one.estimate, one.high))
    ends = "".join(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 5:.1f}" y2="{y + 5:.1f}"/>' for x in (low, high))
    return (
        f'{label}<g class="interval {one.tone}"><line x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>{ends}'
        f'<circle cx="{middle:.1f}" cy="{y:.1f}" r="5"/></g>'
    )
