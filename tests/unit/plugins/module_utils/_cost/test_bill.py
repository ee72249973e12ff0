# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cost.bar_chart import Amount, bar_chart
from ansible_collections.gaudi3.scale.plugins.module_utils._cost.bill import Measured, bill_of
from ansible_collections.gaudi3.scale.plugins.module_utils._cost.course import course_of, runs_since
from ansible_collections.gaudi3.scale.plugins.module_utils._cost.prices import Prices
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

PRICES = Prices("EUR", node_hour=36.0, kwh=0.36)
# Two nodes of eight cards of 500 W, for an hour.
HOUR = Measured(3600, 2, tokens=1e9, joules=16 * 500 * 3600.0, card_seconds=16 * 3600)


def steps(first, last, begin, seconds=1.0, tokens=1000.0):
    """Points of a run that makes a step a second."""
    return [
        {
            "step": step,
            "time": begin + (step - first) * seconds,
            "tokens_per_second": tokens,
            "seconds": {"step": seconds},
        }
        for step in range(first, last + 1)
    ]


def test_nodes_and_energy_of_an_hour():
    bill = bill_of(HOUR, PRICES)
    assert (bill.nodes, bill.kwh) == (72.0, 8.0)
    assert bill.energy == pytest.approx(2.88)
    assert bill.million_tokens == pytest.approx((72 + 2.88) / 1000)
    assert bill.joules_a_token == pytest.approx(0.0288)


def test_a_rented_node_s_energy_is_told_and_not_paid():
    bill = bill_of(HOUR, Prices("EUR", node_hour=36.0))
    assert (bill.kwh, bill.energy, bill.total) == (8.0, None, 72.0)


def test_a_small_gap_counts_like_the_time_around_it_and_a_large_one_is_no_measurement():
    holed = Measured(
        3600, 2, joules=0.96 * HOUR.joules, gap_seconds=0.04 * HOUR.card_seconds, card_seconds=HOUR.card_seconds
    )
    assert bill_of(holed, PRICES).kwh == pytest.approx(8.0)
    torn = Measured(3600, 2, joules=HOUR.joules, gap_seconds=0.06 * HOUR.card_seconds, card_seconds=HOUR.card_seconds)
    with pytest.raises(GaudiError, match="the power of 6% of the run is not known"):
        bill_of(torn, PRICES)


def test_servers_take_what_somebody_said():
    assert bill_of(HOUR, Prices("EUR", node_hour=36.0, overhead_watts=1000)).kwh == pytest.approx(10.0)


def test_restarts_cost_their_part_of_the_time():
    bill = bill_of(Measured(3600, 2, lost_seconds=180, between_seconds=180), PRICES)
    assert bill.restarts == pytest.approx(0.1 * 72)
    assert (bill.million_tokens, bill.joules_a_token, bill.kwh) == (None, None, None)


def test_where_a_job_s_time_went():
    first = {"start": {"time": 90.0}, "points": steps(0, 100, 100.0), "last": {"time": 230.0, "step": 130}, "lost": 30}
    second = {"start": {"time": 250.0}, "points": steps(100, 200, 290.0), "last": {"time": 390.0, "step": 200}}
    course = course_of([first, second], None, 400.0)
    assert (course.begin, course.end, course.restarts, course.steps) == (90.0, 400.0, 1, 200)
    assert (course.stepping_seconds, course.lost_seconds, course.between_seconds) == (200.0, 30.0, 60.0)
    assert course.tokens == 200 * 1000
    assert course.tokens_per_second == pytest.approx(200000 / 310)


def test_a_job_whose_end_nobody_knows_is_as_long_as_it_told():
    run = {"points": steps(0, 100, 100.0), "last": {"time": 230.0, "step": 130}}
    assert course_of([run], 90.0, None).end == 230.0


def test_what_was_put_away_is_told_apart_by_when_a_run_began():
    friday, monday = {"points": steps(0, 9, 100.0)}, {"start": {"time": 950.0}, "points": steps(9, 20, 990.0)}
    assert runs_since([friday, monday], 940.0) == ([friday], [monday])
    assert runs_since([friday, monday], None) == ([], [friday, monday])
    assert runs_since([{"start": {"time": "soon"}, "points": []}], 1.0)[1] == []


def test_a_script_that_counts_no_tokens_has_none():
    bare = [{"step": step, "time": float(step)} for step in range(5)]
    course = course_of([{"points": bare}], 0.0, 10.0)
    assert (course.tokens, course.tokens_per_second, course.steps) == (None, None, 4)


@pytest.mark.parametrize(
    "runs", [[], [{"points": []}], [{"points": steps(0, 0, 1.0)}], [{"points": [{"step": "x"}] * 9}]]
)
def test_what_has_told_no_two_steps_has_no_course(runs):
    assert course_of(runs, 1.0, 2.0) is None


def test_a_bar_has_its_parts_and_what_it_comes_to():
    drawn = bar_chart(
        [Amount("<llama>", [3.0, 1.0], "4 EUR"), Amount("b", [2, 0], "2 EUR")], parts=("a", "b"), x_label="EUR"
    )
    assert drawn.count("<rect") == 4 and "&lt;llama&gt;" in drawn and ">4 EUR<" in drawn
    assert (
        bar_chart([], parts=(), x_label="EUR")
        == bar_chart([Amount("a", [0.0], "0")], parts=("a",), x_label="EUR")
        == ""
    )


def test_of_nodes_that_others_share_the_job_s_part_is_paid():
    half = Measured(3600, 2, tokens=1e9, joules=8 * 500 * 3600.0, card_seconds=8 * 3600, part=0.5)
    bill = bill_of(half, PRICES)
    assert (half.whole_nodes, bill.nodes, bill.kwh) == (1.0, 36.0, 4.0)
    assert bill_of(half, Prices("EUR", node_hour=36.0, overhead_watts=1000)).kwh == pytest.approx(5.0)
