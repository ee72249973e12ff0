# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A line chart as SVG text, for pages that must open without a network."""

from __future__ import annotations

from typing import Sequence

from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_axes import AREA, Axes, axes_around
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_marks import Mark, draw_marks

Point = tuple[float, float]


def line_chart(
    points: Sequence[Point],
    *,
    x_label: str,
    y_label: str,
    marks: Sequence[Mark] = (),
    dots: bool = False,
    from_zero: bool = False,
    y_from_zero: bool = False,
) -> str:
    """An SVG of one line through ``points`` (x ascending), with axes from the data's own range to round numbers.

    ``marks`` are labeled lines across; ``dots`` shows each point, so that one is enough; ``from_zero`` lets both axes
    begin there, ``y_from_zero`` the upright one.
    """
    if len(points) < (1 if dots else 2):
        return ""
    xs = [point[0] for point in points] + [mark.value for mark in marks if mark.axis == "x"]
    ys = [point[1] for point in points] + [mark.value for mark in marks if mark.axis == "y"]
    axes = axes_around(xs + [0.0] * from_zero, ys + [0.0] * (from_zero or y_from_zero))
    path = " ".join(f"{axes.across(x):.1f},{axes.up(y):.1f}" for x, y in points)
    line = f'<polyline class="line" points="{path}"/>'
    seen = [_dot(axes.across(x), axes.up(y)) for x, y in points] if dots else []
    return axes.svg(x_label, y_label, [], [*placed_marks(axes, marks), line, *seen])


def placed_marks(axes: Axes, marks: Sequence[Mark]) -> list[str]:
    """The marks as SVG, each where its value is."""
    places = [(mark, axes.across(mark.value) if mark.axis == "x" else axes.up(mark.value)) for mark in marks]
    return draw_marks(places, AREA)


def _dot(x: float, y: float) -> str:
    return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
