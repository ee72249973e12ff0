# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.text_table import cell_text, text_table


def test_numbers_stand_to_the_right_and_text_to_the_left():
    rows = [{"node": "gaudi-01", "cards": 8}, {"node": "gaudi-2", "cards": 16}]
    assert text_table(rows, ["node", "cards"]).splitlines() == [
        "node      cards",
        "--------  -----",
        "gaudi-01      8",
        "gaudi-2      16",
    ]


def test_missing_column_is_a_dash_and_order_is_the_callers():
    assert text_table([{"a": "x"}], ["b", "a"]).splitlines()[-1] == "-  x"


def test_a_column_without_any_value_is_text():
    assert text_table([{"much": None}], ["much"]).splitlines()[-1] == "-"


def test_no_rows_is_a_heading():
    assert text_table([], ["node"]).splitlines() == ["node", "----"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), ("", "-"), (True, "yes"), (False, "no"), (0, "0"), (1.23456, "1.235"), (["a", 1], "a, 1"), ([], "-")],
)
def test_cell_text(value, text):
    assert cell_text(value) == text


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (315637, "tokens/s", "315,600"),
        (588, "samples/s", "588"),
        (2097152, "bytes", "2,097,152"),
        (52000, "from step", "52,000"),
        (29500, "port", "29500"),
        (4096, "batch size", "4096"),
        (2e7, "needed", "20,000,000"),
    ],
)
def test_quantities_have_one_format_and_names_keep_their_digits(value, column, text):
    assert cell_text(value, column) == text
    assert text_table([{column: value}], [column]).splitlines()[-1].strip() == text
