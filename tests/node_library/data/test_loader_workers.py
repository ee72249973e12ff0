# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time

import pytest
import torch
from torch.utils.data import Dataset

from gaudi3_scale.data.loader_workers import candidates_for, loading_rate, smallest_that_keeps_up
from gaudi3_scale.trainer.measured_workers import own_processors


class SlowWindows(Dataset):
    """A batch takes 20 ms."""

    def __len__(self) -> int:
        return 1000

    def __getitem__(self, numbers: list[int]) -> torch.Tensor:
        time.sleep(0.02)
        return torch.zeros(len(numbers))


@pytest.mark.parametrize(
    ("seconds_of_pass", "workers", "measured", "keeps_up"),
    [
        (0.2, 0, [0], True),  # 4 ms of waiting in 200 ms are 2 %
        (0.19, 1, [0, 1], True),
        (0.005, 2, [0, 1, 2], True),  # 200 batches/s and a quarter more
        (0.001, 4, [0, 1, 2, 4], False),
    ],
)
def test_the_smallest_number_that_keeps_up_is_taken(seconds_of_pass, workers, measured, keeps_up):
    rates = {0: 250.0, 1: 200.0, 2: 250.0, 4: 300.0}
    choice = smallest_that_keeps_up(rates.__getitem__, [0, 1, 2, 4], seconds_of_pass)
    assert (choice.workers, list(choice.rates), choice.keeps_up) == (workers, measured, keeps_up)
    assert choice.needed == pytest.approx(1 / seconds_of_pass)


def test_no_more_workers_than_processors_are_tried():
    assert [candidates_for(count) for count in (0, 1, 2, 6, 8)] == [
        [0, 1],
        [0, 1],
        [0, 1, 2],
        [0, 1, 2, 4],
        [0, 1, 2, 4, 8],
    ]


def test_what_is_measured_is_the_reading():
    """Sleeping processes do not compete, so two of them give twice as much, were it not for what else the node does."""
    alone, two = (loading_rate(SlowWindows(), 4, workers, seconds=1.0) for workers in (0, 2))
    assert 10 < alone <= 50
    assert 1.2 * alone < two <= 101


def test_the_trainer_measures_and_says_what_it_chose(train_here, monkeypatch):
    started = []
    monkeypatch.setattr(
        "gaudi3_scale.trainer.measured_workers.loading_rate", lambda *_, place: {0: 1e-6}.get(_[2], 1e9)
    )
    monkeypatch.setattr(
        "gaudi3_scale.trainer.language_model_task.DataLoader",
        lambda *arguments, **options: (
            started.append(options["num_workers"]) or torch.utils.data.DataLoader(*arguments, **options)
        ),
    )
    lines = train_here("--max-steps", 2, "--workers", "auto")
    (line,) = (line for line in lines if line["kind"] == "workers")
    assert (line["workers"], line["keeps_up"], list(line["batches_per_second"])) == (1, True, ["0", "1"])
    assert 0 < line["needed_per_second"] < 1e4
    assert started[0] == 1


@pytest.mark.parametrize(
    ("own", "starter", "processors"), [({0, 1, 2, 3}, {0, 1, 2, 3}, 2), ({2, 3}, {0, 1, 2, 3}, 2), ({3}, {3}, 0)]
)
def test_a_bound_rank_has_its_processors_for_itself(monkeypatch, own, starter, processors):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: own if pid == 0 else starter)
    assert own_processors(local_world_size=2) == processors


def test_measuring_changes_nothing_that_is_learnt(train_here):
    def loss(lines):
        return [line["loss"] for line in lines if line["kind"] == "step"]

    measured = train_here("--max-steps", 3, "--workers", "auto", job="measured")
    assert loss(measured) == pytest.approx(loss(train_here("--max-steps", 3, job="plain")), rel=1e-6)
