# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of a step: their sums, and what is measured where the device computes while the host goes on."""

from __future__ import annotations

import pytest
import torch

from gaudi3_scale.metrics import clocked_steps, step_clock
from gaudi3_scale.metrics.step_clock import StepClock


class Watch:
    """A clock that is moved by hand."""

    def __init__(self):
        self.time = 100.0

    def __call__(self):
        return self.time


def make(device, wanted=lambda step: True):
    watch = Watch()
    return StepClock(torch.device(device), wanted, watch), watch


def run_step(clock, watch, step, data=1.0, forward=2.0, backward=3.0, optimizer=4.0, after=0.5, communication=None):
    clock.begin(step)
    for part, seconds in (("data", data), ("forward", forward), ("backward", backward), ("optimizer", optimizer)):
        watch.time += seconds
        clock.lap(part)
    clock.end(communication)
    watch.time += after


def test_on_the_cpu_the_parts_are_all_the_time_there_was():
    clock, watch = make("cpu")
    begun = watch.time
    for step in (1, 2, 3):
        run_step(clock, watch, step, communication=1.0)
    run_step(clock, watch, 4, communication=1.0, after=0.0)
    parts = clock.take()
    assert 4 * sum(parts.values()) == pytest.approx(watch.time - begun)
    assert 4 * parts["other"] == 3 * 0.5


def test_communication_is_taken_out_of_the_backward_part():
    clock, watch = make("cpu")
    run_step(clock, watch, 1, communication=1.25)
    assert clock.take() == {
        "data": 1.0,
        "forward": 2.0,
        "backward": 1.75,
        "optimizer": 4.0,
        "communication": 1.25,
        "other": 0.0,
    }


def test_without_a_timer_communication_is_unknown_and_stays_in_the_backward_part():
    clock, watch = make("cpu")
    run_step(clock, watch, 1)
    parts = clock.take()
    assert (parts["communication"], parts["backward"]) == (None, 3.0)


def test_on_a_card_only_wanted_steps_are_measured_and_waited_for(monkeypatch):
    waited = []
    monkeypatch.setattr(step_clock, "synchronize", lambda device: waited.append(device.type))
    clock, watch = make("cuda", lambda step: step == 3)
    run_step(clock, watch, 1)
    run_step(clock, watch, 2)
    assert waited == []
    assert clock.take()["forward"] is None
    run_step(clock, watch, 3)
    run_step(clock, watch, 4)
    assert waited == ["cuda"] * 5
    parts = clock.take()
    assert (parts["data"], parts["forward"], parts["other"]) == (1.0, 2.0, None)


def test_busy_is_data_and_forward_without_the_first_step():
    clock, watch = make("cpu")
    run_step(clock, watch, 1, forward=900.0)
    assert clock.busy() is None
    run_step(clock, watch, 2)
    run_step(clock, watch, 3, data=3.0)
    assert clock.busy() == 4.0


def test_taking_begins_anew():
    clock, watch = make("cpu")
    run_step(clock, watch, 1)
    clock.take()
    assert set(clock.take().values()) == {None}


def test_what_is_no_ddp_has_no_timer():
    model = torch.nn.Linear(1, 1)
    clocked_steps.sample_communication(model, True)
    assert clocked_steps.communication_seconds(model) is None
