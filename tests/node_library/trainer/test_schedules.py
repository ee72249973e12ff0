# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, OneCycleLR

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.trainer.schedules import Schedule

PLAN = ["--max-steps", 12, "--checkpoint-every", 4, "--learning-rate", 0.01]


def optimizer() -> torch.optim.Optimizer:
    return torch.optim.AdamW([torch.nn.Parameter(torch.ones(1))], lr=0.01, betas=(0.9, 0.95))


def followed(optimizer, scheduler, steps: int) -> list[tuple[float, float]]:
    """Learning rate and first beta of each step."""
    seen = []
    for _ in range(steps):
        (group,) = optimizer.param_groups
        seen.append((group["lr"], group["betas"][0]))
        optimizer.step()
        scheduler.step()
    return seen


def rates(lines: list[dict]) -> list[float]:
    return [line["lr"] for line in lines if line["kind"] == "step"]


def test_the_cosine_is_pytorchs_after_a_linear_rise():
    mine, theirs = optimizer(), optimizer()
    found = followed(mine, Schedule(0.01, 4, 20).scheduler(mine), 20)
    expected = followed(theirs, CosineAnnealingLR(theirs, T_max=16, eta_min=0.001), 16)
    assert [rate for rate, _ in found[:4]] == pytest.approx([0.0025, 0.005, 0.0075, 0.01])
    assert np.asarray(found[4:]) == pytest.approx(np.asarray(expected))


def test_a_constant_rate_only_rises():
    mine = optimizer()
    found = [rate for rate, _ in followed(mine, Schedule(0.01, 2, 20, "constant").scheduler(mine), 20)]
    assert found == pytest.approx([0.005, *[0.01] * 19])


@pytest.mark.parametrize(("warmup", "rise"), [(None, 0.3), (4, 0.2), (0, 0.0), (19, 0.95)])
def test_one_cycle_is_pytorchs(warmup, rise):
    mine, theirs = optimizer(), optimizer()
    found = followed(mine, Schedule(0.01, warmup, 20, "one-cycle").scheduler(mine), 20)
    expected = followed(theirs, OneCycleLR(theirs, max_lr=0.01, total_steps=20, pct_start=rise), 20)
    assert np.asarray(found) == pytest.approx(np.asarray(expected))
    assert warmup is None or not warmup or found[warmup - 1] == pytest.approx((0.01, 0.85))


@pytest.mark.parametrize("name", ["one-cycle", "constant"])
def test_a_resumed_job_follows_the_same_schedule(train_here, name):
    whole = rates(train_here(*PLAN, "--schedule", name, job="whole"))
    first = train_here(*PLAN, "--schedule", name, "--stop-after-steps", 5, job="parts")
    assert rates(first) + rates(train_here(*PLAN, "--schedule", name, job="parts")) == pytest.approx(whole)
    mine = optimizer()
    assert whole == pytest.approx(
        [rate for rate, _ in followed(mine, Schedule(0.01, None, 12, name).scheduler(mine), 12)]
    )


def test_another_schedule_or_end_than_the_checkpoints_is_refused(train_here):
    train_here(*PLAN, "--schedule", "one-cycle", "--stop-after-steps", 2)
    with pytest.raises(GaudiError, match=r"^--schedule cosine: the checkpoint's schedule has one-cycle; give that, or"):
        train_here(*PLAN)
    with pytest.raises(GaudiError, match=r"^--max-steps 20: the checkpoint's schedule has 12; give that, or another"):
        train_here(*PLAN, "--schedule", "one-cycle", "--max-steps", 20)


def test_a_cosine_goes_on_to_another_end(train_here):
    train_here(*PLAN, "--stop-after-steps", 2)
    assert train_here(*PLAN, "--max-steps", 14)[-1]["step"] == 14
