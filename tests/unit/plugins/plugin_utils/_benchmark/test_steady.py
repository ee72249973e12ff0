# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which steps of a run count."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.steady import Line, steady_state


def lines(*rates: float, every: int = 5) -> list[Line]:
    """Metric lines of so much work per second, each step with a work of 100."""
    return [Line(every * at + 1, every * (at + 1), 100 / rate, rate) for at, rate in enumerate(rates)]


def test_a_steady_run_counts_from_the_end_of_its_warm_up() -> None:
    found = steady_state(lines(20, 90, *[100, 101, 99] * 4), 10, 0.1)
    assert (found.steps, found.why) == ("11 to 70", "")
    assert found.rate == pytest.approx(100, rel=0.01)


def test_a_run_that_settles_later_counts_from_there() -> None:
    found = steady_state(lines(20, 50, 60, 70, *[100] * 10), 5, 0.1)
    assert found.first > 15
    assert found.rate == pytest.approx(100, rel=0.05)


def test_a_stall_is_in_the_figure_and_makes_no_run_unsteady() -> None:
    found = steady_state(lines(*[100] * 9, 10, *[100] * 9), 5, 0.1)
    # 18 lines of 500 each: 17 take 5 s, and one takes 50.
    assert found.rate == pytest.approx(18 * 500 / (17 * 5 + 50))


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ([100, 100, 100], "only 2 metric lines follow the 5 warm-up steps"),
        ([100 * 1.1**at for at in range(20)], "not steady"),
        ([50, 150] * 10, "not steady: lines from step 51 to 100 vary by 74%"),
    ],
)
def test_what_is_not_steady_has_no_figure(rates: list[float], words: str) -> None:
    found = steady_state(lines(*rates), 5, 0.1)
    assert words in found.why and not found.rate
