# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Several lines over the same axes, to be compared, as SVG text with a legend in HTML."""

from __future__ import annotations

from typing import Sequence

from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_axes import axes_around
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_marks import Mark
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.line_chart import placed_marks
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.stacked_chart import COLORS, Series, legend


def curves_chart(
    series: Sequence[Series], *, x_label: str, y_label: str, marks: Sequence[Mark] = (), y_from_zero: bool = False
) -> str:
    """An SVG of a line through the points of each series, and the legend below it; each may have an x of its own."""
    drawn = [one for one in series if len(one.points) > 1]
    if not drawn:
        return ""
    values = [point for one in drawn for point in one.points]
    axes = axes_around(
        [*(x for x, _y in values), *(mark.value for mark in marks if mark.axis == "x")],
        [
            *(y for _x, y in values),
            *([0.0] if y_from_zero else []),
            *(mark.value for mark in marks if mark.axis == "y"),
        ],
    )
    lines = []
    for number, one in enumerate(drawn):
        path = " ".join(f"{axes.across(x):.1f},{axes.up(y):.1f}" for x, y in one.points)
        lines.append(f'<polyline class="curve c{number % COLORS}" points="{path}"/>')
    return axes.svg(x_label, y_label, [], [*placed_marks(axes, marks), *lines]) + legend(drawn)
