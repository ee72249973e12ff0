# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A line chart as SVG text, for pages that must open without a network."""

from __future__ import annotations

from html import escape
from typing import Sequence

from .chart_marks import Area, Mark, draw_marks

Point = tuple[float, float]

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 16, 44
TICKS = 5


def line_chart(
    points: Sequence[Point],
    *,
    x_label: str,
    y_label: str,
    marks: Sequence[Mark] = (),
    dots: bool = False,
    from_zero: bool = False,
) -> str:
    """An SVG of one line through ``points`` (x ascending), with axes from the data's own range.

    ``marks`` are labelled lines across; ``dots`` shows each point, so that one is enough; ``from_zero`` lets y begin
    there.
    """
    if len(points) < (1 if dots else 2):
        return ""
    xs = [point[0] for point in points] + [mark.value for mark in marks if mark.axis == "x"]
    ys = [point[1] for point in points] + [mark.value for mark in marks if mark.axis == "y"]
    x_range, y_range = _range(xs), _range([0.0, *ys] if from_zero else ys)
    path = " ".join(f"{_across(x, x_range):.1f},{_up(y, y_range):.1f}" for x, y in points)
    middle_x, middle_y = (WIDTH + LEFT) // 2, (HEIGHT - BOTTOM + TOP) // 2
    area = Area(LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)
    placed = [(mark, _across(mark.value, x_range) if mark.axis == "x" else _up(mark.value, y_range)) for mark in marks]
    return "\n".join(
        [
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(y_label)} over {escape(x_label)}">',
            *(_horizontal_grid(value, y_range) for value in _ticks(y_range)),
            *(_vertical_mark(value, x_range) for value in _ticks(x_range)),
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


def _range(values: Sequence[float]) -> Point:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _ticks(bounds: Point) -> list[float]:
    low, high = bounds
    return [low + (high - low) * step / (TICKS - 1) for step in range(TICKS)]


def _across(x: float, bounds: Point) -> float:
    return LEFT + (x - bounds[0]) / (bounds[1] - bounds[0]) * (WIDTH - LEFT - RIGHT)


def _up(y: float, bounds: Point) -> float:
    return HEIGHT - BOTTOM - (y - bounds[0]) / (bounds[1] - bounds[0]) * (HEIGHT - TOP - BOTTOM)


def _horizontal_grid(value: float, bounds: Point) -> str:
    y = _up(value, bounds)
    return (
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>'
    )


def _vertical_mark(value: float, bounds: Point) -> str:
    return f'<text x="{_across(value, bounds):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{value:.3g}</text>'
