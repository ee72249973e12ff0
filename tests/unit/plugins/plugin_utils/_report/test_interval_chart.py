# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.interval_chart import WIDTH, Bar, interval_chart
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.page import report_page


def drawn(*bars):
    return ElementTree.fromstring(interval_chart(bars, x_label="ratio"))


def test_dots_stand_in_the_order_of_their_estimates_on_both_sides_of_the_line():
    chart = drawn(Bar("slower", 0.9, 0.88, 0.92, "bad"), Bar("faster", 1.2, 1.1, 1.3, "good"))
    slower, faster = (float(dot.get("cx")) for dot in chart.iter("circle"))
    middle = float(next(line for line in chart.iter("line") if line.get("class") == "mark").get("x1"))
    assert slower < middle < faster < WIDTH


def test_half_and_twice_as_fast_are_equally_far_from_the_line():
    chart = drawn(Bar("a", 1.0, 0.5, 2.0))
    dot = float(next(chart.iter("circle")).get("cx"))
    across = next(line for group in chart.iter("g") for line in group.iter("line"))
    low, high = float(across.get("x1")), float(across.get("x2"))
    assert low < dot < high
    assert abs((dot - low) - (high - dot)) < 0.3


def test_an_interval_over_many_powers_of_ten_has_these_as_ticks():
    texts = [text.text for text in drawn(Bar("a", 1.5, 0.008, 275.0)).iter("text")]
    assert texts[:5] == ["0.01", "0.1", "1", "10", "100"]


def test_what_was_not_measured_is_a_word():
    chart = drawn(Bar("a <b>", note="failed", tone="bad"))
    assert [text.text for text in chart.iter("text")][-3:-1] == ["a <b>", "failed"]
    assert list(chart.iter("circle")) == []


def test_an_exact_estimate_has_room_around_it():
    assert drawn(Bar("a", 1.0, 1.0, 1.0)).get("viewBox")


def test_nothing_to_draw_is_no_chart():
    assert interval_chart([], x_label="ratio") == ""


def test_a_report_has_it_with_a_color_for_each_tone():
    bars = [{"label": "a", "estimate": 1.1, "low": 1.0, "high": 1.2, "tone": "good", "note": ""}]
    chart = {"title": "Speed", "x_label": "ratio", "bars": [*bars, {"label": "b", "tone": "bad", "note": "failed"}]}
    page = report_page("T", subtitle="", rows=[], columns=[], intervals=[chart])
    assert '<g class="interval good">' in page
    assert ".interval.good line {" in page
    assert ">failed</text>" in page
