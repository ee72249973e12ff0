# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_axes import BOTTOM, HEIGHT, WIDTH
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_marks import Mark
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.stacked_chart import Series, stacked_chart

PARTS = [Series("data", [(0, 1), (10, 1)]), Series("forward & back", [(0, 2), (10, 3)])]


def areas(text):
    return [
        [tuple(map(float, pair.split(","))) for pair in points.split()]
        for points in re.findall(r'<polygon class="area c\d" points="([^"]+)"', text)
    ]


def test_each_area_begins_where_the_one_below_ends():
    low, high = areas(stacked_chart(PARTS, x_label="step", y_label="ms"))
    zero = HEIGHT - BOTTOM
    assert [y for _x, y in low[2:]] == [zero, zero]
    assert high[2:] == list(reversed(low[:2]))
    # 3 of 4 on the left and 4 of 4 on the right, on an axis from 0 to 4.
    assert (zero - high[0][1]) / (zero - high[1][1]) == 3 / 4
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for area in (low, high) for x, y in area)


def test_the_legend_names_every_part_and_the_picture_is_sound():
    text = stacked_chart(PARTS, x_label="step", y_label="ms", marks=[Mark("x", 5, "restart")])
    svg, legend = text.split("</svg>")
    ElementTree.fromstring(f"{svg}</svg>")
    assert re.findall(r"</i>([^<]+)</li>", legend) == ["data", "forward &amp; back"]
    assert "restart" in svg


def test_one_point_is_no_area():
    assert stacked_chart([Series("data", [(0, 1)])], x_label="step", y_label="ms") == ""
    assert stacked_chart([], x_label="step", y_label="ms") == ""
