# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.trainer.global_batch import passes_of_step


@pytest.mark.parametrize(
    ("wanted", "batch_size", "world_size", "passes", "expected"),
    [
        (None, 16, 8, None, 1),
        (None, 16, 8, 3, 3),
        (512, 16, 8, None, 4),
        (512, 16, 16, None, 2),
        (512, 16, 8, 4, 4),
        (128, 16, 8, None, 1),
    ],
)
def test_passes_make_the_global_batch_whatever_the_number_of_ranks(wanted, batch_size, world_size, passes, expected):
    assert passes_of_step(wanted, batch_size, world_size, passes) == expected


def test_a_global_batch_that_the_ranks_cannot_share_is_one_sentence():
    with pytest.raises(GaudiError) as caught:
        passes_of_step(500, 16, 8, None)
    assert str(caught.value) == (
        "--global-batch-size 500 is not a multiple of --batch-size 16 times 8 ranks; "
        "choose a multiple of 128, or another --batch-size or number of ranks."
    )
    with pytest.raises(GaudiError, match=r"^--accumulate 2 makes a global batch of 256, not --global-batch-size 512; "):
        passes_of_step(512, 16, 8, 2)


def test_the_job_says_the_global_batch(train_here, monkeypatch):
    monkeypatch.setenv("GAUDI3_SCALE_GLOBAL_BATCH_SIZE", "24")
    start = train_here("--max-steps", 1)[0]
    assert (start["batch_size"], start["accumulate"], start["global_batch_size"]) == (8, 3, 24)
    monkeypatch.setenv("GAUDI3_SCALE_GLOBAL_BATCH_SIZE", "20")
    with pytest.raises(GaudiError, match=r"^--global-batch-size 20 is not a multiple of --batch-size 8 times 1 ranks"):
        train_here("--max-steps", 1, job="other")
