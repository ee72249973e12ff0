# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_axes import HEIGHT, WIDTH
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.curves_chart import curves_chart
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.stacked_chart import Series

LONG = Series("0: --lr <1>", [(0, 5), (10, 3), (20, 1)])
SHORT = Series("1: --lr 2", [(0, 5), (10, 4)])


def lines(text):
    return [
        [tuple(map(float, pair.split(","))) for pair in points.split()]
        for points in re.findall(r'<polyline class="curve c\d" points="([^"]+)"', text)
    ]


def test_lines_of_different_lengths_share_their_axes():
    first, second = lines(curves_chart([LONG, SHORT], x_label="step", y_label="loss"))
    assert (len(first), len(second)) == (3, 2)
    assert first[0] == second[0]
    # The picture's y grows downwards: the higher loss is above.
    assert second[1][0] == first[1][0]
    assert second[1][1] < first[1][1]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for line in (first, second) for x, y in line)


def test_the_legend_names_what_is_drawn_and_the_picture_is_sound():
    text = curves_chart([Series("one point", [(0, 1)]), LONG, SHORT], x_label="step", y_label="loss")
    svg, legend = text.split("</svg>")
    ElementTree.fromstring(f"{svg}</svg>")
    assert re.findall(r'<i class="(c\d)"></i>([^<]+)</li>', legend) == [
        ("c0", "0: --lr &lt;1&gt;"),
        ("c1", "1: --lr 2"),
    ]


def test_points_alone_are_no_chart():
    assert curves_chart([Series("one point", [(0, 1)])], x_label="step", y_label="loss") == ""
