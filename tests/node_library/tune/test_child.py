# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the metric lines of a trial say."""

from __future__ import annotations

from gaudi3_scale.tune.child import Progress


def step(number, rate=None, loss=1.0):
    return {"kind": "step", "step": number, "loss": loss, "tokens_per_second": rate}


def reported(progress, lines):
    return [window for window in map(progress.add, lines) if window is not None]


def test_each_tenth_is_told_once_and_as_a_part_of_the_budget():
    lines = [step(n, loss=float(n)) for n in range(1, 41)]
    windows = reported(Progress("loss", 40), lines)
    assert windows == [(n, float(4 * n)) for n in range(1, 11)]


def test_the_speed_leaves_the_first_rate_out_and_a_stall_does_not_count():
    progress = Progress("throughput", 10)
    for number, rate in enumerate([None, 1.0, 100.0, 3.0, 110.0, 120.0], 1):
        progress.add(step(number, rate))
    assert progress.tokens_per_second == 105.0
    assert progress.ended("ok", "").value == 105.0


def test_a_speed_is_not_told_before_there_is_one():
    assert reported(Progress("throughput", 10), [step(1), step(2, 10.0), step(3, 20.0)]) == [(3, 20.0)]


def test_the_loss_of_held_out_text_is_taken_where_there_is_one():
    progress = Progress("loss", 2)
    for line in (step(1, loss=3.0), step(2, loss=2.0)):
        progress.add(line)
    assert progress.ended("ok", "").value == 2.0
    progress.add({"kind": "end", "validation_loss": 2.5})
    assert progress.ended("ok", "").value == 2.5


def test_a_trial_without_its_measure_is_none():
    ended = Progress("throughput", 10).ended("ok", "")
    assert (ended.outcome, ended.value) == ("crash", None)
    assert "no metric line with tokens_per_second" in ended.message


def test_other_lines_say_nothing():
    assert reported(Progress("loss", 10), [{"kind": "start", "step": 0}, {"kind": "checkpoint", "step": 5}]) == []
