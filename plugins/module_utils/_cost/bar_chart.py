# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Amounts with their parts as lying bars, as SVG text: what a run costs, and what of."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Sequence

WIDTH, ROW, LEFT, RIGHT, TOP, BOTTOM = 720, 34, 170, 150, 8, 30
# As many parts as a page's style has colors.
COLORS = 6
_LONGEST_LABEL = 26


@dataclass(frozen=True)
class Amount:
    """One bar: its parts from the left, each 0 or more, and what stands at its end."""

    label: str
    parts: Sequence[float]
    text: str


def bar_chart(amounts: Sequence[Amount], *, parts: Sequence[str], x_label: str) -> str:
    """An SVG with a bar an amount, from the first down, and a legend of ``parts`` in HTML; empty without amounts."""
    longest = max((sum(one.parts) for one in amounts), default=0.0)
    if longest <= 0:
        return ""
    bottom = TOP + ROW * len(amounts)
    scale = (WIDTH - LEFT - RIGHT) / longest
    said = f"{x_label}: " + "; ".join(f"{one.label} {one.text}" for one in amounts)
    return "\n".join(
        [
            f'<svg viewBox="0 0 {WIDTH} {bottom + BOTTOM}" role="img" aria-label="{escape(said)}">',
            *(_bar(one, TOP + ROW * number, scale) for number, one in enumerate(amounts)),
            f'<line class="grid" x1="{LEFT}" x2="{LEFT}" y1="{TOP}" y2="{bottom}"/>',
            f'<text x="{LEFT}" y="{bottom + BOTTOM - 8}">{escape(x_label)}</text>',
            "</svg>",
            _legend(parts),
        ]
    )


def _bar(one: Amount, top: float, scale: float) -> str:
    short = one.label if len(one.label) <= _LONGEST_LABEL else f"{one.label[: _LONGEST_LABEL - 1]}…"
    middle = top + ROW / 2 + 4
    drawn, place = [f'<text x="{LEFT - 12}" y="{middle:.1f}" text-anchor="end">{escape(short)}</text>'], float(LEFT)
    for number, part in enumerate(one.parts):
        wide = part * scale
        size = f'x="{place:.1f}" y="{top + 5:.1f}" width="{wide:.1f}" height="{ROW - 10}"'
        drawn.append(f'<rect class="c{number % COLORS}" {size}/>')
        place += wide
    return "".join([*drawn, f'<text x="{place + 8:.1f}" y="{middle:.1f}">{escape(one.text)}</text>'])


def _legend(parts: Sequence[str]) -> str:
    """Which color is which part."""
    entries = (f'<li><i class="c{number % COLORS}"></i>{escape(part)}</li>' for number, part in enumerate(parts))
    return f'<ul class="legend">{"".join(entries)}</ul>'
