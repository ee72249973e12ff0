# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity, rounded, written


@pytest.mark.parametrize(
    ("value", "text", "short"),
    [
        (0, "0", "0"),
        (20_000_000.0, "20,000,000", "20,000,000"),
        (315_637, "315,600", "316,000"),
        (9_999.6, "10,000", "10,000"),
        (7_602.3, "7,602", "7,600"),
        (100.0, "100", "100"),
        (950.6, "951", "951"),
        (19.33, "19.33", "19.3"),
        (0.1061, "0.1061", "0.106"),
        (-5.5, "-5.5", "-5.5"),
        (3e-05, "0.00003", "0.00003"),
        (0.000123456, "0.0001235", "0.000123"),
    ],
)
def test_thousands_are_apart_and_nothing_has_an_exponent(value, text, short):
    assert (quantity(value), rounded(value)) == (text, short)


@pytest.mark.parametrize("value", [1e22, 5e-324, 10**30, float("nan"), float("inf")])
def test_what_nobody_measures_fills_no_line(value):
    assert len(quantity(value)) <= 10


@pytest.mark.parametrize(
    ("value", "text"), [(102.5, "102.5"), (1200, "1,200"), (0.1 + 0.2, "0.3"), (1e10, "10,000,000,000")]
)
def test_what_is_not_measured_keeps_its_digits(value, text):
    assert written(value) == text
