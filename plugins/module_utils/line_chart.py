# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A line chart as SVG text, for pages that must open without a network."""

from __future__ import annotations

from html import escape
from typing import Sequence

from .chart_marks import Area, Mark, draw_marks
from .chart_ticks import tick_text, ticks_around

Point = tuple[float, float]

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 72, 20, 16, 44


def line_chart(
    points: Sequence[Point],
    *,
    x_label: str,
    y_label: str,
    marks: Sequence[Mark] = (),
    dots: bool = False,
    from_zero: bool = False,
) -> str:
    """An SVG of one line through ``points`` (x ascending), with axes from the data's own range to round numbers.

    ``marks`` are labelled lines across; ``dots`` shows each point, so that one is enough; ``from_zero`` lets both axes
    begin there.
    """
    if len(points) < (1 if dots else 2):
        return ""
    xs = [point[0] for point in points] + [mark.value for mark in marks if mark.axis == "x"]
    ys = [point[1] for point in points] + [mark.value for mark in marks if mark.axis == "y"]
    zero = [0.0] if from_zero else []
    x_ticks, y_ticks = _ticks([*zero, *xs]), _ticks([*zero, *ys])
    x_range, y_range = (x_ticks[0], x_ticks[-1]), (y_ticks[0], y_ticks[-1])
    path = " ".join(f"{_across(x, x_range):.1f},{_up(y, y_range):.1f}" for x, y in points)
    middle_x, middle_y = (WIDTH + LEFT) // 2, (HEIGHT - BOTTOM + TOP) // 2
    area = Area(LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)
    placed = [(mark, _across(mark.value, x_range) if mark.axis == "x" else _up(mark.value, y_range)) for mark in marks]
    return "\n".join(
        [
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(y_label)} over {escape(x_label)}">',
            *(_horizontal_grid(value, y_range) for value in y_ticks),
            *(_vertical_mark(value, x_range) for value in x_ticks),
            *draw_marks(placed, area),
            f'<polyline class="line" points="{path}"/>',
            *(_dot(_across(x, x_range), _up(y, y_range)) for x, y in (points if dots else ())),
            _label(f'x="{middle_x}" y="{HEIGHT - 6}"', x_label),
            _label(f'transform="translate(14 {middle_y}) rotate(-90)"', y_label),
            "</svg>",
        ]
    )


def _dot(x: float, y: float) -> str:
    return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'


def _label(place: str, text: str) -> str:
    return f'<text {place} text-anchor="middle">{escape(text)}</text>'


def _ticks(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return ticks_around(low, high) if high > low else ticks_around(low - 0.5, high + 0.5)


def _across(x: float, bounds: Point) -> float:
    return LEFT + (x - bounds[0]) / (bounds[1] - bounds[0]) * (WIDTH - LEFT - RIGHT)


def _up(y: float, bounds: Point) -> float:
    return HEIGHT - BOTTOM - (y - bounds[0]) / (bounds[1] - bounds[0]) * (HEIGHT - TOP - BOTTOM)


def _horizontal_grid(value: float, bounds: Point) -> str:
    y = _up(value, bounds)
    return (
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick_text(value)}</text>'
    )


def _vertical_mark(value: float, bounds: Point) -> str:
    x, y = _across(value, bounds), HEIGHT - BOTTOM + 18
    return f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{tick_text(value)}</text>'
