# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.module_utils._batch.search import CRASH, OK, OUT_OF_MEMORY
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.comparison import BASE, Setting
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.plan import Run, next_run, order, speed
from ansible_collections.gaudi3.scale.tests.unit.compared import comparison_of, play


def steady(number, name):
    return Run(number, name, OK, 1.0, 100, 2.0)


def test_the_base_rehearses_then_each_round_has_everybody_once():
    runs = play(
        comparison_of("a", "b", rounds=4, precision=0.001), lambda number, name: Run(number, name, OK, 1.0 + number)
    )
    assert (runs[0].round, runs[0].name) == (0, BASE)
    for number in (1, 2):
        assert sorted(run.name for run in runs if run.round == number) == ["a", "b", BASE]


def test_nobody_is_always_first_and_a_repetition_has_the_same_order():
    comparison = comparison_of("a", "b", "c")
    orders = [order(number, comparison) for number in range(1, 31)]
    assert {one[0] for one in orders} == {BASE, "a", "b", "c"}
    assert orders == [order(number, comparison_of("a", "b", "c")) for number in range(1, 31)]


def test_narrow_intervals_end_it_after_half_of_the_rounds():
    def rough(number, name):
        return Run(number, name, OK, 1.0 + 0.1 * (number % 3) * (name == "a"))

    comparison = comparison_of("a", rounds=10)
    assert max(run.round for run in play(comparison, steady)) == 5
    assert max(run.round for run in play(comparison, rough)) == 10


def test_a_comparison_that_was_cut_off_goes_on_where_it_was():
    comparison = comparison_of("a", "b", rounds=6)
    whole = play(comparison, steady)
    for cut in range(len(whole)):
        following = next_run(whole[:cut], comparison)
        assert following == (whole[cut].round, whole[cut].name)


def test_more_rounds_go_on_from_fewer():
    few = play(
        comparison_of("a", rounds=3),
        lambda number, name: Run(number, name, OK, number + (name == "a") * 0.1 * number**2),
    )
    assert next_run(few, comparison_of("a", rounds=3)) is None
    assert next_run(few, comparison_of("a", rounds=8))[0] == 4


def test_what_failed_is_left_out_and_the_others_go_on():
    def run(number, name):
        return Run(number, name, OUT_OF_MEMORY) if name == "b" else steady(number, name)

    runs = play(comparison_of("a", "b", rounds=4), run)
    assert [run.name for run in runs].count("b") == 1
    assert [run.name for run in runs].count("a") == 4


def test_after_a_crash_the_base_shows_that_the_card_still_works():
    def run(number, name):
        return Run(number, name, CRASH) if name == "b" else steady(number, name)

    runs = play(comparison_of("a", "b", rounds=4), run)
    crashed = next(place for place, run in enumerate(runs) if run.name == "b")
    assert (runs[crashed + 1].round, runs[crashed + 1].name) == (0, BASE)


def test_nothing_is_left_to_run_when_every_setting_failed():
    def run(number, name):
        return steady(number, name) if name == BASE else Run(number, name, OUT_OF_MEMORY)

    assert len(play(comparison_of("a", "b"), run)) <= 4


def test_a_larger_batch_is_judged_by_samples_and_not_by_steps():
    comparison = comparison_of(settings=[Setting("twice", batch_size=8), Setting("four", options={"accumulation": 4})])

    def run(number, name):
        return Run(number, name, OK, {"twice": 1.6, "four": 4.0}.get(name, 1.0) + 0.001 * number)

    runs = play(comparison, run)
    assert abs(speed(runs, "twice", comparison).estimate - 2 / 1.6) < 0.01
    assert abs(speed(runs, "four", comparison).estimate - 1) < 0.01
