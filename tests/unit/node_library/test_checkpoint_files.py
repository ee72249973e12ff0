# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from gaudi3_scale.checkpoint_files import available_steps, checkpoint_path, newest_common, surplus


@pytest.mark.parametrize(
    ("steps_of_ranks", "expected"),
    [
        ([[10, 20]], 20),
        ([[10, 20], [10, 20]], 20),
        ([[10, 20], [10]], 10),
        ([[20, 30], [10, 20]], 20),
        ([[20], [10]], None),
        ([[10], []], None),
        ([[], []], None),
    ],
)
def test_the_newest_step_that_every_rank_has(steps_of_ranks, expected):
    assert newest_common(steps_of_ranks) == expected


@pytest.mark.parametrize(("steps", "keep", "expected"), [([], 2, []), ([5], 2, []), ([30, 10, 20], 2, [10])])
def test_all_but_the_newest_are_surplus(steps, keep, expected):
    assert surplus(steps, keep) == expected


def test_only_whole_checkpoints_are_available(tmp_path):
    for step in (100, 20, 123456789):
        checkpoint_path(tmp_path, step).touch()
    (tmp_path / ".step-00000300.ckpt.node1-77").touch()
    (tmp_path / "step-00000300.ckpt.part").touch()
    (tmp_path / "last.ckpt").touch()
    assert available_steps(tmp_path) == [20, 100, 123456789]


def test_no_directory_has_no_checkpoints(tmp_path):
    assert available_steps(tmp_path / "nothing") == []
