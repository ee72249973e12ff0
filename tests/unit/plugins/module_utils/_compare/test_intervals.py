# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import random

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.intervals import (
    independent_ratio,
    mean_interval,
    paired_ratio,
    student_quantile,
)


# Two-sided values as tables print them, for example NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
@pytest.mark.parametrize(
    ("level", "freedom", "expected"),
    [
        (0.95, 1, 12.706),
        (0.95, 2, 4.303),
        (0.95, 4, 2.776),
        (0.95, 9, 2.262),
        (0.99, 5, 4.032),
        (0.90, 30, 1.697),
        (0.998, 1, 318.3088),  # tan(0.998 pi / 2)
        (0.95, 100, 1.984),
    ],
)
def test_quantiles_are_those_of_the_tables(level, freedom, expected):
    assert student_quantile(level, freedom) == pytest.approx(expected, abs=6e-4)


def test_a_drift_of_the_machine_is_in_no_paired_ratio():
    slower_and_slower = [1.0, 1.3, 1.9, 2.4]
    interval = paired_ratio([0.9 * t for t in slower_and_slower], slower_and_slower, 0.95)
    assert interval.estimate == pytest.approx(0.9)
    assert interval.high - interval.low < 1e-9


def test_an_interval_of_a_ratio_is_around_it_and_as_wide_as_student_says():
    interval = paired_ratio([1.0, 1.1, 0.9, 1.05], [1.0, 1.0, 1.0, 1.0], 0.95)
    logs = [math.log(value) for value in (1.0, 1.1, 0.9, 1.05)]
    mean = sum(logs) / 4
    error = math.sqrt(sum((one - mean) ** 2 for one in logs) / 3 / 4)
    assert math.log(interval.high) == pytest.approx(mean + 3.1824 * error, abs=1e-4)
    assert math.log(interval.low) == pytest.approx(mean - 3.1824 * error, abs=1e-4)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_interval_holds_the_truth_as_often_as_it_says(level):
    draw = random.Random(20).gauss
    held = sum(not mean_interval([draw(3, 1) for _ in range(5)], level).excludes(3) for _ in range(4000))
    # Three standard errors of 4000 draws.
    assert held / 4000 == pytest.approx(level, abs=3 * math.sqrt(level * (1 - level) / 4000))


def test_measurements_of_two_days_are_compared_with_the_spread_of_both():
    interval = independent_ratio([1.0, 1.02, 0.98], [1.25, 1.2, 1.3, 1.25], 0.95)
    assert interval.estimate == pytest.approx(0.8, abs=0.002)
    assert interval.low < 0.8 < interval.high < 0.9


def test_of_one_run_nothing_can_be_said():
    assert paired_ratio([1.0], [1.0], 0.95) is None
    assert independent_ratio([1.0, 1.1], [1.0], 0.95) is None


def test_runs_that_agree_to_the_last_digit_leave_no_room():
    assert independent_ratio([2.0, 2.0], [1.0, 1.0], 0.95).low == pytest.approx(2.0)
