# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.chart_ticks import (
    tick_text,
    ticks_around,
    ticks_inside,
)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 128, ["0", "50", "100", "150"]),
        (0, 1190, ["0", "250", "500", "750", "1,000", "1,250"]),
        (0, 10, ["0", "2", "4", "6", "8", "10"]),
        (2.51, 5.48, ["2", "3", "4", "5", "6"]),
        (0.1, 0.3, ["0.1", "0.15", "0.2", "0.25", "0.3"]),
        (-3e6, 2e6, ["-3,000,000", "-2,000,000", "-1,000,000", "0", "1,000,000", "2,000,000"]),
    ],
)
def test_round_numbers_hold_the_range(low, high, expected):
    assert list(map(tick_text, ticks_around(low, high))) == expected


def test_inside_no_tick_is_beyond_the_range():
    assert list(map(tick_text, ticks_inside(0.48, 2.1))) == ["0.5", "1", "1.5", "2"]
