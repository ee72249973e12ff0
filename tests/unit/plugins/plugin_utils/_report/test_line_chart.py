# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_axes import HEIGHT, WIDTH
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_marks import Mark
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.line_chart import line_chart


def points_of(svg: str) -> list[tuple[float, float]]:
    path = re.search(r'class="line" points="([^"]+)"', svg).group(1)
    return [tuple(float(number) for number in pair.split(",")) for pair in path.split()]


def test_a_falling_series_goes_down_and_stays_inside():
    svg = line_chart([(1, 5.5), (10, 3.0), (20, 2.5)], x_label="step", y_label="loss")
    points = points_of(svg)
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert points[0][1] < points[1][1] < points[2][1]  # SVG counts down the page
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)
    ElementTree.fromstring(svg)


def test_a_flat_series_has_a_range_to_stand_in():
    assert {y for _, y in points_of(line_chart([(0, 2.0), (1, 2.0)], x_label="x", y_label="y"))} != set()


def test_labels_are_escaped():
    assert "loss &lt; 1" in line_chart([(0, 1), (1, 2)], x_label="step", y_label="loss < 1")


def test_a_long_number_stays_in_the_picture():
    svg = line_chart([(0, 1), (1_000_000, 2)], x_label="x", y_label="y")
    assert f'<text x="{WIDTH}.0" y="274" text-anchor="end">1,000,000</text>' in svg
    assert 'text-anchor="middle">100</text>' in line_chart([(0, 1), (100, 2)], x_label="x", y_label="y")


def test_one_point_is_no_line():
    assert line_chart([(0, 1)], x_label="x", y_label="y") == ""


def test_marks_are_inside_and_widen_the_range():
    marks = [Mark("y", 10, "limit < 11", "bad"), Mark("x", 30, "choice")]
    svg = line_chart([(1, 5), (20, 8)], x_label="x", y_label="y", marks=marks, dots=True, from_zero=True)
    assert max(x for x, _ in points_of(svg)) < WIDTH - 100
    lines = [line for line in ElementTree.fromstring(svg).iter("line") if "mark" in line.get("class")]
    assert [line.get("class") for line in lines] == ["mark bad", "mark plain"]
    assert all(0 <= float(line.get(end)) <= HEIGHT for line in lines for end in ("y1", "y2"))
    assert "limit &lt; 11" in svg
    # 5 of 0 to 10 is half way up.
    (first, _last) = points_of(svg)
    assert first[1] == (float(lines[1].get("y1")) + float(lines[1].get("y2"))) / 2


def test_with_dots_one_point_is_enough():
    assert line_chart([(8, 1)], x_label="x", y_label="y", dots=True).count("<circle") == 1
