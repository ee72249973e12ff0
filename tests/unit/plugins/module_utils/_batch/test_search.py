# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.bounds import Answer, Bounds, Try
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.memory_model import Prior
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.search import Trial, largest_batch, next_step
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

GIB = 1 << 30


def card_with(limit, broken=None):
    """Trials that fit up to ``limit`` and measure nothing; ``broken`` maps a size to another outcome."""

    def attempt(batch_size):
        outcome = (broken or {}).get(batch_size) or ("ok" if batch_size <= limit else "out_of_memory")
        return Trial(batch_size, outcome, message="why" if outcome != "ok" else "")

    return attempt


def measured(memory, peak, resting, spread=None):
    """Trials on a card of ``memory`` bytes whose peak by the batch size is the function ``peak``."""

    def attempt(size):
        needed = int(peak(size))
        if needed > memory:
            return Trial(size, "out_of_memory", message="out of memory")
        return Trial(size, "ok", needed, 0.001 * size, "", resting, spread, memory)

    return attempt


def affine(static, sample):
    return lambda size: static + sample * size


def sizes(search):
    return [trial.batch_size for trial in search.trials]


@pytest.mark.parametrize(
    ("limit", "maximum", "multiple_of", "answer"),
    [(1, 1024, 1, 1), (2, 1024, 1, 2), (7, 1024, 1, 7), (96, 1024, 8, 96), (103, 1024, 8, 96), (5000, 100, 8, 96)],
)
def test_without_measurements_failures_tell(limit, maximum, multiple_of, answer):
    bounds = Bounds(maximum, multiple_of, tolerance=0)
    search = largest_batch(card_with(limit), bounds)
    assert (search.batch_size, search.answer.certified) == (answer, True)


def test_every_answer_ran_and_without_tolerance_it_is_the_largest_that_fits():
    for maximum in (1, 2, 3, 5, 8, 100, 129):
        for limit in range(1, maximum + 3):
            search = largest_batch(card_with(limit), Bounds(maximum, tolerance=0))
            assert search.batch_size == min(limit, maximum)
            assert Trial(search.batch_size, "ok") in search.trials
            assert len(set(sizes(search))) == len(search.trials) <= 2 * (maximum - 1).bit_length() + 1


# Lightning 2.6.6 answers 8192 here, its untried maximum, for a limit of 5000.
def test_the_maximum_is_tried_before_it_is_returned():
    assert largest_batch(card_with(5000), Bounds(8192, tolerance=0)).batch_size == 5000
    search = largest_batch(measured(100 * GIB, affine(GIB, GIB), GIB), Bounds(64))
    assert search.batch_size == 64
    assert sizes(search)[-1] == 64
    assert search.answer == Answer(64, True, 0.0, "64 is the largest size allowed")


def test_an_affine_workload_takes_a_reading_a_second_far_from_it_and_the_answer():
    # 20 GiB and 0.1 GiB a sample: 800 fill 100 GiB, 792 leave a hundredth of the 80 GiB free.
    search = largest_batch(measured(100 * GIB, affine(20 * GIB, GIB / 10), 20 * GIB), Bounds(8192))
    assert len(search.trials) == 3
    assert all(trial.outcome == "ok" for trial in search.trials)
    assert sizes(search)[0] == 2
    assert 0.98 * 792 <= search.batch_size <= 792
    assert not search.answer.certified
    assert 1 - search.batch_size / 800 <= search.answer.within < 0.04


def test_only_multiples_are_tried_and_the_next_one_is_out():
    search = largest_batch(measured(98 * GIB, affine(20 * GIB, GIB), 20 * GIB), Bounds(1024, 8))
    assert all(size % 8 == 0 for size in sizes(search))
    assert (search.batch_size, search.answer.certified) == (72, True)
    assert search.answer.why == "80 is excluded by the measured growth of the peak memory"


def test_an_estimate_from_the_host_saves_trials():
    attempt = measured(100 * GIB, affine(20 * GIB, GIB / 10), 20 * GIB)
    search = largest_batch(attempt, Bounds(8192, limit_bytes=100 * GIB, prior=Prior(19 * GIB, 0.103 * GIB, 0.05)))
    assert len(search.trials) == 2
    assert 0.96 * 800 < search.batch_size <= 792


def test_with_an_estimate_a_trial_goes_as_far_as_is_worth_it_and_no_nearer_to_the_limit():
    prior = Prior(30 * GIB, 0.1 * GIB, 0.05)
    peak = affine(30 * GIB, 0.1 * GIB)
    bounds = Bounds(8192, limit_bytes=100 * GIB, prior=prior)
    search = largest_batch(measured(100 * GIB, peak, 30 * GIB), bounds)
    assert len(search.trials) == 2
    assert 0.95 * 700 <= search.batch_size <= 0.975 * 700


def test_with_an_estimate_a_failed_size_just_above_the_answer_ends_the_search():
    trials = [
        Trial(620, "ok", 92 * GIB, 0.6, "", 30 * GIB, None, 100 * GIB),
        Trial(650, "out_of_memory", message="out of memory"),
    ]
    step = next_step(trials, Bounds(8192, limit_bytes=100 * GIB, prior=Prior(30 * GIB, 0.1 * GIB, 0.15)))
    assert isinstance(step, Answer)
    assert step.batch_size == 620


def test_with_an_estimate_no_trial_is_made_for_a_few_samples_more():
    """The peaks differ by 3 %: what a larger size gains is less, and it would leave less free."""
    trials = [
        Trial(500, "ok", 80 * GIB, 0.5, "", 20 * GIB, 3 * GIB, 100 * GIB),
        Trial(625, "ok", int(92.5 * GIB), 0.6, "", 20 * GIB, 3 * GIB, 100 * GIB),
    ]
    step = next_step(trials, Bounds(8192, limit_bytes=100 * GIB, prior=Prior(30 * GIB, 0.1 * GIB, 0.15)))
    assert isinstance(step, Answer)


def test_with_an_estimate_nobody_doubles_a_size_where_the_peak_rests():
    def in_blocks(size):
        return (20 + 20 * -(-size // 200)) * GIB

    prior = Prior(20 * GIB, 0.1 * GIB, 0.15)
    bounds = Bounds(8192, limit_bytes=105 * GIB, prior=prior)
    search = largest_batch(measured(105 * GIB, in_blocks, 20 * GIB), bounds)
    assert [trial.outcome for trial in search.trials] == ["ok"] * len(search.trials)
    assert len(search.trials) <= 3


def test_an_estimate_that_is_wrong_costs_a_failure_but_not_the_answer():
    attempt = measured(100 * GIB, affine(20 * GIB, GIB / 10), 20 * GIB)
    search = largest_batch(attempt, Bounds(8192, limit_bytes=100 * GIB, prior=Prior(10 * GIB, GIB / 20, 0.05)))
    assert [trial.outcome for trial in search.trials].count("out_of_memory") == 1
    assert 0.97 * 800 < search.batch_size <= 792


def test_a_search_that_was_cut_off_anywhere_ends_the_same():
    attempt = measured(100 * GIB, lambda size: max(40 * GIB, 20 * GIB + size * GIB / 10), 20 * GIB)
    bounds = Bounds(8192)
    whole = largest_batch(attempt, bounds)
    for cut in range(len(whole.trials) + 1):
        made = []
        rest = largest_batch(attempt, bounds, whole.trials[:cut], made.append)
        assert rest == whole
        assert tuple(made) == whole.trials[cut:]


def test_a_plateau_is_left_although_the_peak_does_not_move_on_it():
    attempt = measured(100 * GIB, lambda size: max(60 * GIB, 20 * GIB + size * GIB / 10), 20 * GIB)
    search = largest_batch(attempt, Bounds(8192))
    assert 0.97 * 800 < search.batch_size <= 792
    assert len(search.trials) <= 7


def test_what_bends_upwards_is_not_overshot():
    attempt = measured(100 * GIB, lambda size: 10 * GIB + 90 * GIB * (size / 1000) ** 1.1, 10 * GIB)
    search = largest_batch(attempt, Bounds(8192))
    assert all(trial.outcome == "ok" for trial in search.trials)
    assert 970 <= search.batch_size <= 1000


def test_the_margin_and_the_utilization_stay_free():
    attempt = measured(100 * GIB, affine(20 * GIB, GIB / 10), 20 * GIB)
    for margin, target_hpu_utilization, most in ((0.05, 1.0, 760), (0.01, 0.9, 693), (0.0, 0.5, 300)):
        size = largest_batch(
            attempt, Bounds(8192, margin=margin, target_hpu_utilization=target_hpu_utilization)
        ).batch_size
        assert 0.98 * most <= size <= most


def test_peaks_that_differ_between_steps_leave_more_free():
    steady = largest_batch(measured(100 * GIB, affine(20 * GIB, GIB / 10), 20 * GIB), Bounds(8192))
    unsteady = largest_batch(measured(100 * GIB, affine(20 * GIB, GIB / 10), 20 * GIB, 2 * GIB), Bounds(8192))
    assert unsteady.batch_size < 0.97 * steady.batch_size


def test_the_least_limit_that_anybody_tells_counts():
    attempt = measured(100 * GIB, affine(20 * GIB, GIB), 20 * GIB)
    assert largest_batch(attempt, Bounds(64, limit_bytes=60 * GIB)).batch_size <= 40
    assert largest_batch(attempt, Bounds(128, limit_bytes=500 * GIB)).batch_size <= 80


def test_a_limit_that_is_not_true_is_found_by_its_failures():
    """The card is said to have 100 GiB; another process holds 40 of them."""

    def attempt(size):
        peak = (20 + size) * GIB
        return Trial(size, "ok", peak, 0.1, "", 20 * GIB, 0) if peak <= 60 * GIB else Trial(size, "out_of_memory")

    search = largest_batch(attempt, Bounds(1024, limit_bytes=100 * GIB))
    assert search.batch_size == 40
    assert search.answer.why == "41 was tried and ran out of memory"


def test_a_size_that_ran_once_and_failed_once_is_no_answer():
    trials = [Trial(8, "ok", 50 * GIB, 1, "", GIB, 0, 60 * GIB), Trial(8, "out_of_memory")]
    step = next_step(trials, Bounds(64))
    assert isinstance(step, Try)
    assert step.batch_size < 8


def test_a_smallest_size_beyond_the_margin_is_still_the_answer():
    attempt = measured(100 * GIB, affine(20 * GIB, 79.9 * GIB), 20 * GIB)
    search = largest_batch(attempt, Bounds(64))
    assert search.answer == Answer(
        1, True, None, "1 leaves less memory free than the margin, and no smaller size is allowed"
    )


def test_a_smallest_size_that_would_soon_fail_is_refused():
    attempt = measured(100 * GIB, affine(20 * GIB, 79 * GIB), 20 * GIB, 2 * GIB)
    with pytest.raises(GaudiError, match=r"Batch size 1, the smallest allowed, ran with 99.00 GiB of 100.00 GiB, but"):
        largest_batch(attempt, Bounds(64))


def test_a_workload_that_ignores_the_batch_is_told():
    with pytest.raises(
        GaudiError, match=r"does not depend on the batch size: 30.00 GiB at 2 samples as at \d+; the workload"
    ):
        largest_batch(lambda size: Trial(size, "ok", 30 * GIB, 0.5, "", 20 * GIB, 0, 100 * GIB), Bounds(1024))


def test_a_plateau_up_to_the_maximum_is_not_taken_for_it():
    def attempt(size):
        return Trial(size, "ok", 30 * GIB, 0.5 * size, "", 20 * GIB, 0, 100 * GIB)

    assert largest_batch(attempt, Bounds(1024)).batch_size == 1024
    # Too near to each other to tell.
    quick = largest_batch(lambda size: Trial(size, "ok", 30 * GIB, 0.5, "", 20 * GIB, 0, 100 * GIB), Bounds(16))
    assert quick.batch_size == 16


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("crash", "The trial of batch size 4 crashed: why"),
        ("hang", "The trial of batch size 4 did not finish: why"),
        ("workload_error", "The trial of batch size 4 could not run the workload: why"),
        ("nonsense", "The trial of batch size 4 returned the unknown outcome 'nonsense': why"),
    ],
)
def test_what_says_nothing_about_memory_ends_the_search_with_its_trials(outcome, said):
    with pytest.raises(GaudiError) as caught:
        largest_batch(card_with(100, {4: outcome}), Bounds(64))
    assert str(caught.value) == said
    assert [trial["batch_size"] for trial in caught.value.facts["trials"]] == [2, 4]


@pytest.mark.parametrize(
    ("bounds", "trial", "said"),
    [
        (
            Bounds(64, 8),
            Trial(8, "out_of_memory", message="why"),
            r"runs out of memory \(why\); use activation checkpointing, a shorter sequence or sharding, or lower mult",
        ),
        (
            Bounds(64, limit_bytes=100 * GIB, prior=Prior(30 * GIB, 90 * GIB, 0.1)),
            Trial(1, "out_of_memory", message="why"),
            r"it needs as estimated 120\.00 GiB, 20\.00 GiB more than the card's 100\.00 GiB \(why\); use acti",
        ),
        (
            Bounds(64, limit_bytes=100 * GIB, prior=Prior(90 * GIB, 20 * GIB, 0.1)),
            Trial(1, "out_of_memory", message="why"),
            r"parameters and optimizer state alone take 90\.00 GiB: shard them over more cards",
        ),
        (
            Bounds(64),
            Trial(
                1,
                "out_of_memory",
                90 * GIB,
                message=f"PT_DEVMEM Allocation failed for size::{20 * GIB}",
                limit_bytes=GIB,
            ),
            r"it needs at least 110\.00 GiB, 109\.00 GiB more than the card's 1\.00 GiB",
        ),
    ],
)
def test_a_workload_that_never_fits_is_told_by_how_much_and_what_would_help(bounds, trial, said):
    with pytest.raises(GaudiError, match=said):
        next_step([trial], bounds)


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        (Bounds(7, 8), "maximum 7 contains no multiple of 8; raise maximum to 8"),
        (Bounds(64, 0), "multiple_of is 0"),
        (Bounds(-1), "minimum 1 is above maximum -1"),
        (Bounds(32, minimum=64), "minimum 64 is above maximum 32; swap them"),
        (Bounds(64, minimum=0), "minimum is 0"),
        (Bounds(23, 8, 17), "17 to 23 contains no multiple of 8"),
        (Bounds(64, margin=0.5), "margin is 0.5; give a fraction"),
        (Bounds(64, margin=-0.1), "margin is -0.1"),
        (Bounds(64, target_hpu_utilization=0), "target_hpu_utilization is 0"),
        (Bounds(64, target_hpu_utilization=95), "target_hpu_utilization is 95"),
    ],
)
def test_bad_bounds_are_refused_before_any_trial(bounds, said):
    with pytest.raises(GaudiError, match=said):
        largest_batch(lambda _size: pytest.fail("tried"), bounds)


def test_a_minimum_is_rounded_up_to_a_multiple():
    search = largest_batch(card_with(100), Bounds(64, 8, 17))
    assert sizes(search)[0] == 24


@pytest.mark.parametrize("seed", range(200))
def test_whatever_the_trials_say_the_search_ends_without_trying_a_size_twice(seed):
    dice = random.Random(seed)
    memory, static, sample = 100 * GIB, dice.uniform(1, 90) * GIB, 10 ** dice.uniform(-3, 1.5) * GIB
    wrong, reported = dice.choice([0.0, 0.02, 0.2, 0.9]), dice.choice([memory, 2 * memory, memory // 2, None])

    def attempt(size):
        peak = int((static + sample * size) * dice.uniform(1 - wrong, 1 + wrong))
        if peak > memory or dice.random() < wrong / 4:
            return Trial(size, "out_of_memory")
        peak = max(peak, 1)
        return Trial(size, "ok", peak, 0.001 * size, "", dice.choice([None, int(static), peak]), dice.choice([None, 0]))

    minimum, multiple_of = dice.choice([1, 5]), dice.choice([1, 8])
    prior = dice.choice([None, Prior(static * dice.uniform(0.1, 3), sample * dice.uniform(0.1, 3), 0.1)])
    bounds = Bounds(dice.choice([16, 1000, 8192]), multiple_of, minimum, reported, prior=prior)
    made = []
    try:
        search = largest_batch(attempt, bounds, reported=made.append)
    except GaudiError:
        search = None
    tried = [trial.batch_size for trial in made]
    assert len(set(tried)) == len(tried) <= 40
    assert all(bounds.allows(size) for size in tried)
    ran = [trial.batch_size for trial in made if trial.outcome == "ok"]
    assert search is None or search.batch_size in ran
