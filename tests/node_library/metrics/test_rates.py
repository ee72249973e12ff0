# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from gaudi3_scale.metrics.rates import ESTIMATE_LINES, Rates


def test_what_was_before_the_first_line_is_in_no_rate():
    rates = Rates()
    assert rates.seconds_left(100) is None
    assert rates.add(1, 50.0) is None
    assert (rates.whole(), rates.seconds_left(100)) == (None, None)
    assert rates.add(11, 55.0) == 0.5
    assert rates.add(21, 75.0) == 2.0
    assert (rates.whole(), rates.seconds_left(101)) == (1.25, 100.0)


def test_the_time_that_is_left_is_by_the_last_lines():
    rates = Rates()
    rates.add(0, 0.0)
    rates.add(1, 1000.0)
    for step in range(2, 3 + ESTIMATE_LINES):
        rates.add(step, 1000.0 + step)
    assert rates.seconds_left(112) == 100.0
    # Never less than nothing, where a program goes on beyond what it told.
    assert rates.seconds_left(3) == 0.0


def test_two_lines_at_one_time_have_no_rate():
    rates = Rates()
    rates.add(1, 5.0)
    assert rates.add(2, 5.0) is None
