# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Parts of a whole over one axis, each area on top of the one before, as SVG text with a legend in HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Sequence

from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_axes import axes_around
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_marks import Mark
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.line_chart import Point, placed_marks

# As many areas as the page's style has colors.
COLORS = 6


@dataclass(frozen=True)
class Series:
    """One part; all parts of a chart have the same x."""

    label: str
    points: Sequence[Point]


def stacked_chart(series: Sequence[Series], *, x_label: str, y_label: str, marks: Sequence[Mark] = ()) -> str:
    """An SVG of the areas from the first up, on an axis that begins at zero, and the legend below it."""
    if not series or len(series[0].points) < 2:
        return ""
    xs = [x for x, _y in series[0].points]
    edges = [[0.0] * len(xs)]
    for one in series:
        edges.append([low + y for low, (_x, y) in zip(edges[-1], one.points)])
    axes = axes_around([*xs, *(mark.value for mark in marks if mark.axis == "x")], [0.0, *edges[-1]])
    areas = []
    for number, (low, high) in enumerate(zip(edges, edges[1:])):
        there = [f"{axes.across(x):.1f},{axes.up(y):.1f}" for x, y in zip(xs, high)]
        back = [f"{axes.across(x):.1f},{axes.up(y):.1f}" for x, y in zip(reversed(xs), reversed(low))]
        areas.append(f'<polygon class="area c{number % COLORS}" points="{" ".join(there + back)}"/>')
    return axes.svg(x_label, y_label, areas, placed_marks(axes, marks)) + legend(series)


def legend(series: Sequence[Series]) -> str:
    """Which color is which series, as HTML."""
    entries = (f'<li><i class="c{number % COLORS}"></i>{escape(one.label)}</li>' for number, one in enumerate(series))
    return f'<ul class="legend">{"".join(entries)}</ul>'
