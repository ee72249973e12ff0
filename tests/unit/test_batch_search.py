# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils.batch_search import Trial, largest_batch
from ansible_collections.gaudi3.scale.plugins.module_utils.errors import GaudiError


def card_with(limit, broken=None):
    """Trials of a workload that fits up to ``limit``; ``broken`` maps a size to another outcome."""

    def attempt(batch_size):
        outcome = (broken or {}).get(batch_size) or ("ok" if batch_size <= limit else "out_of_memory")
        return Trial(batch_size, outcome, message="why" if outcome != "ok" else "")

    return attempt


@pytest.mark.parametrize(
    ("limit", "maximum", "multiple_of", "tried", "answer"),
    [
        (1, 1024, 1, [1, 2], 1),
        (2, 1024, 1, [1, 2, 4, 3], 2),
        (7, 1024, 1, [1, 2, 4, 8, 6, 7], 7),
        (37, 1024, 1, [1, 2, 4, 8, 16, 32, 64, 48, 40, 36, 38, 37], 37),
        (96, 1024, 8, [8, 16, 32, 64, 128, 96, 112, 104], 96),
        (200, 1024, 8, [8, 16, 32, 64, 128, 256, 192, 224, 208, 200], 200),
        (103, 1024, 8, [8, 16, 32, 64, 128, 96, 112, 104], 96),
        (513, 1024, 64, [64, 128, 256, 512, 1024, 768, 640, 576], 512),
        # The maximum is the last size that is tried, never one that is returned untried.
        (5000, 1024, 1, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024], 1024),
        (5000, 100, 8, [8, 16, 32, 64, 96], 96),
        (70, 100, 8, [8, 16, 32, 64, 96, 80, 72], 64),
        (5000, 1, 1, [1], 1),
        (5000, 12, 8, [8], 8),
        # Lightning 2.6.6 answers 8192 here, its untried maximum, for a limit of 5000.
        (
            5000,
            8192,
            8,
            [
                8,
                16,
                32,
                64,
                128,
                256,
                512,
                1024,
                2048,
                4096,
                8192,
                6144,
                5120,
                4608,
                4864,
                4992,
                5056,
                5024,
                5008,
                5000,
            ],
            5000,
        ),
    ],
)
def test_sizes_tried_and_answer(limit, maximum, multiple_of, tried, answer):
    search = largest_batch(card_with(limit), maximum=maximum, multiple_of=multiple_of)
    assert [trial.batch_size for trial in search.trials] == tried
    assert search.batch_size == answer


def test_every_answer_ran_is_the_largest_that_fits_and_needs_no_more_than_the_promised_trials():
    for maximum in (1, 2, 3, 5, 8, 100, 129):
        for limit in range(1, maximum + 3):
            search = largest_batch(card_with(limit), maximum=maximum)
            assert search.batch_size == min(limit, maximum)
            assert Trial(search.batch_size, "ok") in search.trials
            assert len(search.trials) <= 2 * (maximum - 1).bit_length() + 1
            assert len({trial.batch_size for trial in search.trials}) == len(search.trials)


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("crash", "The trial of batch size 4 crashed: why"),
        ("hang", "The trial of batch size 4 did not end: why"),
        ("workload_error", "The trial of batch size 4 could not run the workload: why"),
        ("nonsense", "The trial of batch size 4 ended with the unknown outcome 'nonsense': why"),
    ],
)
def test_what_says_nothing_about_memory_ends_the_search_with_its_trials(outcome, said):
    with pytest.raises(GaudiError) as caught:
        largest_batch(card_with(100, {4: outcome}), maximum=64)
    assert str(caught.value) == said
    assert [trial["batch_size"] for trial in caught.value.facts["trials"]] == [1, 2, 4]


def test_a_workload_that_never_fits_is_told_with_what_would_help():
    with pytest.raises(
        GaudiError, match=r"Batch size 8, the smallest allowed, already runs out of memory.*checkpointing"
    ):
        largest_batch(card_with(7), maximum=64, multiple_of=8)


@pytest.mark.parametrize(
    ("maximum", "multiple_of", "said"),
    [
        (7, 8, "maximum 7 holds no multiple of 8; raise maximum to 8"),
        (64, 0, "multiple_of is 0"),
        (-1, 1, "maximum -1"),
    ],
)
def test_bounds_without_a_size_are_refused_before_any_trial(maximum, multiple_of, said):
    with pytest.raises(GaudiError, match=said):
        largest_batch(lambda _size: pytest.fail("tried"), maximum=maximum, multiple_of=multiple_of)
