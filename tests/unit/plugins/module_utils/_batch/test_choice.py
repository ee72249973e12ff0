# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.bounds import Answer, Bounds, Try
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.choice import (
    GlobalBatch,
    for_global_batch,
    next_for_throughput,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.search import Trial
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError


def chosen(step_seconds, sizes, largest, multiple_of=8):
    """The choice after trials of ``sizes``, with the sizes it tried beyond them."""
    bounds = Bounds(4096, multiple_of)
    trials = [Trial(size, "ok", step_seconds=step_seconds(size)) for size in sizes]
    answer, extra = Answer(largest, True, 0.0, ""), []
    while isinstance(step := next_for_throughput(trials, answer, bounds, len(extra)), Try):
        extra.append(step.batch_size)
        trials.append(Trial(step.batch_size, "ok", step_seconds=step_seconds(step.batch_size)))
    return step.batch_size, extra


def test_where_speed_saturates_a_smaller_batch_is_as_good():
    # 1024 samples take 1.034 s; 2 % below their speed is reached from 640 on.
    size, extra = chosen(lambda size: 0.01 + size / 1000, [8, 512, 1024], 1024)
    assert size < 512
    assert len(extra) <= 2
    assert size / (0.01 + size / 1000) >= 0.98 * 1024 / (0.01 + 1.024)


def test_where_speed_grows_to_the_end_the_largest_is_chosen():
    assert chosen(lambda size: 1.0, [8, 512, 1024], 1024) == (1024, [])


def test_a_largest_batch_that_stalls_is_not_chosen():
    """Near the limit Gaudi's bridge defragments before it fails."""
    size, extra = chosen(lambda size: 0.05 + size / 1000 * (2 if size > 900 else 1), [8, 512, 1024], 1024)
    assert size == 512 or size in extra
    assert len(extra) <= 2


def test_a_size_above_the_answer_is_never_chosen():
    bounds = Bounds(64)
    trials = [Trial(60, "ok", step_seconds=0.001), Trial(50, "ok", step_seconds=1.0), Trial(64, "out_of_memory")]
    step = next_for_throughput(trials, Answer(50, True, 0.0, ""), bounds, 2)
    assert step.batch_size == 50


def test_at_most_two_further_trials_are_asked_for():
    bounds = Bounds(1024)
    trials = [Trial(1000, "ok", step_seconds=1.0)]
    largest = Answer(1000, True, 0.0, "")
    assert next_for_throughput(trials, largest, bounds, 0) == Try(500, "expected to be within 2 % of the best speed")
    assert next_for_throughput(trials, largest, bounds, 2).batch_size == 1000


def test_without_times_the_largest_is_the_answer():
    step = next_for_throughput([Trial(8, "ok")], Answer(8, False, 0.02, "x"), Bounds(64))
    assert step == Answer(8, False, 0.02, "the largest size, because no step was timed")


@pytest.mark.parametrize(
    ("batch_size", "global_batch", "world_size", "multiple_of", "per_card", "steps"),
    [
        (96, 1024, 8, 8, 64, 2),
        (128, 1024, 8, 8, 128, 1),
        (500, 1024, 8, 1, 128, 1),
        (7, 1024, 8, 1, 4, 32),
        (96, 8 * 90, 8, 1, 90, 1),
        (50, 8 * 90, 8, 1, 45, 2),
        (50, 8 * 88, 8, 8, 8, 11),
        (3, 8, 8, 1, 1, 1),
    ],
)
def test_a_global_batch_is_made_of_the_fewest_steps(batch_size, global_batch, world_size, multiple_of, per_card, steps):
    made = for_global_batch(batch_size, global_batch, world_size, multiple_of=multiple_of)
    assert made == GlobalBatch(global_batch, world_size, per_card, steps, None)
    assert made.batch_size * made.accumulation_steps * made.world_size == global_batch


@pytest.mark.parametrize(("scaling", "rate"), [("linear", 4e-3), ("sqrt", 2e-3), ("none", 1e-3)])
def test_the_learning_rate_is_scaled_as_asked(scaling, rate):
    made = for_global_batch(64, 1024, 8, learning_rate=1e-3, learning_rate_batch=256, scaling=scaling)
    assert made.learning_rate == pytest.approx(rate)


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((64, 1000, 64), {}, "A global batch of 1000 cannot be divided evenly by 64 cards; use 960 or 1024"),
        ((64, 4, 8), {}, "A global batch of 4 cannot be divided evenly by 8 cards; use 8"),
        ((64, 8 * 97, 8), {"multiple_of": 8}, "is 97 samples per card, which no multiple of 8 up to 64 divides"),
        ((0, 8, 8), {}, "at least 1"),
        ((8, 8, 8), {"scaling": "cubic"}, "scaling 'cubic' is not known; choose linear, sqrt, none"),
        ((8, 8, 8), {"learning_rate": 0.1}, "give the global batch for which it was chosen"),
    ],
)
def test_what_cannot_be_made_is_refused(arguments, options, said):
    with pytest.raises(GaudiError, match=said):
        for_global_batch(*arguments, **options)
