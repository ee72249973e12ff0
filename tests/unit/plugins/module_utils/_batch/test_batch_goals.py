# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The goals of the batch search, as counts on the simulated workloads of ``benchmarks/batch_search.py``."""

from __future__ import annotations

import statistics

import pytest

from benchmarks.batch_curve_table import OURS_BUILT_IN, OURS_WRONG, finders, row
from benchmarks.batch_curve_table import measure as measure_curves
from benchmarks.batch_curves import KEPT_AWAY, TOLD, drawn
from benchmarks.batch_models import HELD, LIMITS, SHAPES, workload
from benchmarks.batch_peers import accelerate, deepspeed_tuned, seeds
from benchmarks.batch_search import measure, ours, ours_estimated, search, trials_an_answer

SEEDS = 3


@pytest.fixture(scope="module")
def mine():
    return measure("ours", ours, tuple(SHAPES), SEEDS)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("limit", LIMITS)
def test_a_simulated_workload_has_the_limit_that_it_was_made_for(shape, limit):
    for seed in range(SEEDS):
        made = workload(shape, limit, seed)
        assert made.peak(limit) <= made.memory < made.peak(limit + 1)
        assert 0 < made.resting < made.peak(1)


def test_trials(mine):
    counts = [one.trials for one in mine if one.shape in HELD]
    assert statistics.median(counts) <= 3
    assert max(counts) <= 6


def test_failed_trials(mine):
    counts = [one.failed for one in mine]
    assert statistics.median(counts) == 0
    assert max(counts) <= 1


def test_answers(mine):
    assert [one for one in mine if one.unsafe or one.answer > 1] == []
    assert [one for one in mine if one.shape in HELD and one.answer < 0.97] == []


def test_how_sure_it_says_to_be_is_true():
    certified = 0
    for shape in (*HELD, "attention"):
        for limit in LIMITS:
            for seed in range(SEEDS):
                made = workload(shape, limit, seed)
                found = search(made)
                assert found.batch_size >= (1 - (found.answer.within or 0)) * limit - 1e-6
                if found.answer.certified:
                    certified += 1
                    margin = 0.01 * (made.memory - made.resting)
                    assert made.peak(found.batch_size + 1) > made.memory - margin * 1.0001
    assert certified > 50


def test_an_estimate_saves_a_trial(mine):
    estimated = measure("estimated", ours_estimated, tuple(SHAPES), SEEDS)
    assert sum(one.trials for one in estimated) < 0.8 * sum(one.trials for one in mine)
    assert max(one.failed for one in estimated) <= 1
    assert [one for one in estimated if one.unsafe] == []


@pytest.mark.parametrize("peer", [accelerate, seeds, deepspeed_tuned])
def test_others_need_twice_the_trials_for_a_good_answer(mine, peer):
    theirs = measure("theirs", peer, tuple(SHAPES), SEEDS)
    assert trials_an_answer(mine) <= 0.5 * trials_an_answer(theirs)


@pytest.mark.parametrize(("finder", "out_of_memory"), [(OURS_WRONG, 1), (OURS_BUILT_IN, 2)])
def test_on_drawn_curves_an_estimate_leaves_hardly_a_trial_out_of_memory(finder, out_of_memory):
    failed, _curves, _trials, besides, worst, share, _least, below, unsafe = row(
        measure_curves(finders(only_ours=True)[finder], drawn(500, 480, TOLD))
    )
    assert (failed, unsafe) == (out_of_memory, 0)
    assert besides <= 1.2
    assert worst <= 5
    assert share >= 0.97
    assert below <= 30


@pytest.mark.parametrize("finder", [OURS_WRONG, OURS_BUILT_IN])
def test_on_curves_that_bend_or_come_in_steps_an_estimate_leaves_no_trial_out_of_memory(finder):
    shapes = tuple(shape for shape in (*TOLD, *KEPT_AWAY) if shape not in ("blocks", "noisy", "kink", "growing blocks"))
    results = measure_curves(finders(only_ours=True)[finder], drawn(1100, 7, shapes))
    assert [one for one in results if one.failed or one.unsafe] == []
