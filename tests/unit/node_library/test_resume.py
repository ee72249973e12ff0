# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which checkpoint ``--resume`` means when the ranks do not hold the same ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from gaudi3_scale.core.errors import GaudiError

from gaudi3_scale import resume


@pytest.fixture
def resume_from(monkeypatch):
    """``resume_from(choice, steps_of_ranks)``: the ranks' answers are given, everything else is real."""

    def chosen(choice: str, steps_of_ranks: list[list[int]]) -> tuple[Path | None, int]:
        monkeypatch.setattr(resume, "gather_numbers", lambda *_: steps_of_ranks)
        return resume.resume_from(choice, Path("/job/checkpoints"), torch.device("cpu"))

    return chosen


@pytest.mark.parametrize(
    ("steps_of_ranks", "step"),
    [([[10, 20], [10, 20]], 20), ([[10, 20], [10]], 10), ([[20, 30], [10, 20], [20]], 20)],
)
def test_auto_is_the_newest_that_all_have(resume_from, steps_of_ranks, step):
    assert resume_from("auto", steps_of_ranks) == (Path(f"/job/checkpoints/step-{step:08d}.ckpt"), step)


@pytest.mark.parametrize("choice", ["auto", "never"])
def test_where_nothing_is_a_job_begins(resume_from, choice):
    assert resume_from(choice, [[], []]) == (None, 0)


@pytest.mark.parametrize(
    ("choice", "steps_of_ranks", "sentence"),
    [
        ("auto", [[20], []], "no checkpoint is on every node; step 20 is missing for rank 1 in /job/checkpoints"),
        ("auto", [[10], [20], [20]], "no checkpoint is on every node; step 20 is missing for rank 0 in"),
        ("never", [[], [20]], "--resume never: /job/checkpoints already holds step 20; move it away, or"),
        ("/a.ckpt", [[], []], "--resume /a.ckpt: there is no such checkpoint for rank 0, 1; copy the same file to"),
    ],
)
def test_what_would_lose_steps_is_refused(resume_from, choice, steps_of_ranks, sentence):
    with pytest.raises(GaudiError, match=re.escape(sentence)):
        resume_from(choice, steps_of_ranks)
