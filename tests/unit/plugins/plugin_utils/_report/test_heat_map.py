# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A square of cells: which are dark, crossed out or empty, and what no node may put into it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.heat_map import Cell, heat_map
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.page import report_page

NAMES = ["a", "b", "c"]
CELLS = [Cell(0, 1, 10.0, note="a and b"), Cell(2, 0, 5.0), Cell(1, 2, None, bad=True, note="cannot talk")]


def test_the_largest_is_darkest_and_bad_ones_are_crossed_out() -> None:
    drawn = heat_map(NAMES, CELLS, label="pairs")
    assert re.findall(r"fill-opacity: ([0-9.]+)", drawn) == ["1.00", "0.56"]
    assert drawn.count('class="heat bad"') == drawn.count('class="heat cross"') == 1
    assert "<title>cannot talk</title>" in drawn
    assert len(ET.fromstring(drawn).findall(".//text")) == 2 + 4


def test_a_pair_has_one_cell_below_the_diagonal_whichever_comes_first() -> None:
    one, other = (heat_map(NAMES, [Cell(*place, 1.0)], label="") for place in ((0, 2), (2, 0)))
    assert one == other


@pytest.mark.parametrize(("count", "texts"), [(2, 3), (40, 78), (512, 1)])
def test_names_and_numbers_are_written_as_far_as_they_can_be_read(count: int, texts: int) -> None:
    drawn = ET.fromstring(heat_map([f"n{number}" for number in range(count)], [Cell(0, 1, 1.0)], label=""))
    assert len(drawn.findall(".//text")) == texts
    assert all(float(square.get("x") or 0) >= 150 for square in drawn.iter("rect"))


def test_nothing_is_drawn_of_nothing() -> None:
    assert heat_map(NAMES, [], label="") == ""


def test_what_a_node_says_is_text_and_cells_outside_the_square_are_left_out() -> None:
    cell = {"row": 0, "column": 1, "value": 1.0, "bad": False, "note": "<script>"}
    outside = [{**cell, "column": 9}, {**cell, "column": 0}, {**cell, "row": -1}]
    one = {"title": "t", "names": ["<b>", "b"], "cells": [cell, *outside]}
    page = report_page("T", subtitle="", rows=[], columns=[], heat_maps=[one])
    assert page.count("<rect") == 1
    assert "<script>" not in page and "<b>" not in page
