# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Labeled lines across a chart, such as a limit or a choice, as SVG text."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Sequence

_LINE_HEIGHT = 15
_GAP = 6
# From this part of the width on, a label stands to the left of its line.
_LATE = 0.6


@dataclass(frozen=True)
class Mark:
    """A line at ``value`` of the axis x or y. ``tone`` is plain, good or bad."""

    axis: str
    value: float
    label: str = ""
    tone: str = "plain"


@dataclass(frozen=True)
class Area:
    """The part of the picture that is between the axes, in its own units."""

    left: float
    top: float
    right: float
    bottom: float


def draw_marks(placed: Sequence[tuple[Mark, float]], area: Area) -> list[str]:
    """SVG of the marks, each with its place along its axis. Labels of upright lines are one above the other."""
    upright = [(mark, place) for mark, place in placed if mark.axis == "x"]
    level = [(mark, place) for mark, place in placed if mark.axis == "y"]
    return [
        *(_level(mark, place, area) for mark, place in level),
        # At the foot, since a line that rises is at the top where a limit is near.
        *(_upright(mark, place, area, row) for row, (mark, place) in enumerate(upright)),
    ]


def _level(mark: Mark, y: float, area: Area) -> str:
    below = y - area.top < _LINE_HEIGHT
    return (
        f'<line class="mark {mark.tone}" x1="{area.left}" x2="{area.right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="{mark.tone}" x="{area.left + _GAP}" y="{y + (_LINE_HEIGHT if below else -_GAP):.1f}">'
        f"{escape(mark.label)}</text>"
    )


def _upright(mark: Mark, x: float, area: Area, row: int) -> str:
    late = x > area.left + _LATE * (area.right - area.left)
    anchor, at = ("end", x - _GAP) if late else ("start", x + _GAP)
    return (
        f'<line class="mark {mark.tone}" x1="{x:.1f}" x2="{x:.1f}" y1="{area.top}" y2="{area.bottom}"/>'
        f'<text class="{mark.tone}" x="{at:.1f}" y="{area.bottom - _GAP - _LINE_HEIGHT * row}" text-anchor="{anchor}">'
        f"{escape(mark.label)}</text>"
    )
