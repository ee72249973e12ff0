# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
import torch

from gaudi3_scale.batch.quiet import MOST_STEPS
from gaudi3_scale.batch.trial_steps import run_steps

CPU = torch.device("cpu")


class Recorded:
    """A device whose peaks are known beforehand."""

    limit = 1000
    used_by_others = None

    def __init__(self, peaks):
        self._peaks = list(peaks)
        self._now = 0

    def start_step(self):
        self._now = self._peaks.pop(0)

    def step_peak(self):
        return self._now

    def in_use(self):
        return self._now // 2

    def peak(self):
        return self._now


@pytest.mark.parametrize(
    ("peaks", "least", "made"),
    [
        ([500] * 20, 3, 3),
        ([500, 600, 600, 600], 2, 3),
        (range(0, 1000, 50), 3, MOST_STEPS),
        ([500] * 20, 14, 14),
    ],
)
def test_steps_go_on_until_the_peak_is_quiet(peaks, least, made):
    calls = []
    steps = run_steps(lambda: calls.append(1), CPU, Recorded(peaks), least, warm_up=1)
    assert (len(steps.seconds), len(calls)) == (made, made + 1)
    assert steps.peaks == list(peaks)[:made]
    assert steps.resting == [peak // 2 for peak in steps.peaks]


def test_without_steps_to_warm_up_the_first_one_counts():
    steps = run_steps(lambda: None, CPU, Recorded([500] * 5), 2, warm_up=0)
    assert (steps.warm_up_seconds, len(steps.seconds)) == (None, 2)


@pytest.mark.parametrize(
    ("value", "losses"),
    [(0.5, [0.5, 0.5]), (torch.tensor([2.0], requires_grad=True), [2.0, 2.0]), (torch.ones(2), []), (None, [])],
)
def test_losses_are_what_steps_return_as_a_number(value, losses):
    assert run_steps(lambda: value, CPU, Recorded([500] * 5), 2, warm_up=1).losses == losses
