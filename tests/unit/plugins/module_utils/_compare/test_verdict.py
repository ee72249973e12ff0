# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import math

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.search import HANG, OK
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.comparison import BASE, Setting
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.plan import Run
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.verdict import verdicts
from ansible_collections.gaudi3.scale.tests.unit.compared import comparison_of, play

from benchmarks.comparison import Noise, simulate


def judged(comparison, one_run):
    return {one.name: one for one in verdicts(play(comparison, one_run), comparison)}


def with_loss(**losses):
    """Runs as fast as the base; losses by name, of the base 2.0."""
    return lambda number, name: Run(number, name, OK, 1.0 + 0.001 * number, 100, losses.get(name, 2.0))


@pytest.mark.parametrize(
    ("noise", "settings"), [(Noise(0.004), 1), (Noise(0.02, 0.1), 3), (Noise(0.02, spikes=True), 2)]
)
def test_equal_settings_are_told_apart_no_more_often_than_stated(noise, settings):
    times = 250
    figure = simulate(noise, [1.0] * settings, rounds=8, times=times)
    # 5 % are stated; three standard errors of so many comparisons beside it.
    assert figure.wrong <= 0.05 + 3 * (0.05 * 0.95 / times) ** 0.5


@pytest.mark.parametrize("speed", [1.1, 0.9])
def test_a_tenth_is_found_in_noise_of_two_percent_whatever_the_rounds_differ_by(speed):
    figure = simulate(Noise(0.02, 0.2), [speed, 1.0], rounds=8, times=200)
    assert figure.found >= 0.95


def test_a_faster_setting_that_learns_worse_does_not_help():
    def run(number, name):
        return Run(number, name, OK, 0.5 if name == "a" else 1.0 + 0.001 * number, 100, 2.2 if name == "a" else 2.0)

    found = judged(comparison_of("a"), run)["a"]
    assert found.verdict == "changes the loss"
    assert found.loss_change == pytest.approx(0.1)


def test_a_loss_within_the_tolerance_is_the_same():
    assert judged(comparison_of("a", loss_tolerance=0.02), with_loss(a=2.03))["a"].verdict == "no difference"
    assert judged(comparison_of("a", loss_tolerance=0.01), with_loss(a=2.03))["a"].verdict == "changes the loss"


def test_a_loss_that_is_no_number_is_a_changed_one_and_can_be_written_as_json():
    comparison = comparison_of("a")
    found = judged(comparison, with_loss(a=math.nan))["a"]
    assert found.verdict == "changes the loss"
    assert "not a number" in found.why
    json.dumps(found.as_dict(comparison.settings[0]), allow_nan=False)


def test_losses_over_other_batches_are_not_compared():
    comparison = comparison_of(settings=[Setting("twice", batch_size=8)])
    found = judged(comparison, with_loss(twice=5.0))["twice"]
    assert (found.verdict, found.loss_change, found.loss) == ("helps", None, 5.0)
    assert "a step has 2 times the samples" in found.why


def test_a_failure_is_the_verdict_with_its_reason():
    def run(number, name):
        if name == "a":
            return Run(number, name, HANG, message="not finished after 5 s.\nwaiting for graph")
        return Run(number, name, OK, 1.0 + 0.001 * number)

    found = judged(comparison_of("a", "b"), run)
    assert found["a"].verdict == "failed"
    assert "timed out: waiting for graph" in found["a"].why
    assert found["b"].verdict == "no difference"


def test_memory_is_told_as_a_part_of_the_bases():
    def run(number, name):
        return Run(number, name, OK, 1.0 + 0.001 * number, 150 if name == "a" else 100)

    assert judged(comparison_of("a"), run)["a"].memory == pytest.approx(1.5)


def test_after_one_round_nothing_is_said():
    comparison = comparison_of("a")
    runs = [Run(0, BASE, OK, 1.0), Run(1, BASE, OK, 1.0), Run(1, "a", OK, 0.5)]
    assert verdicts(runs, comparison)[0].verdict == "not measured"
