# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The built-in trainer with copies in host memory, and no checkpoint on a disk: a lost node, and a killed rank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.sandbox_jobs import (
    HOSTS,
    SPARE,
    play,
    shell,
    start_node,
    status,
    stop_node,
    wait_for,
    wait_for_members,
    wait_for_steps,
)
from tests.sandbox_trainer import JOBS, checkpoints, losses_of, runs, trainer, trainer_of, wait_for_resumed

NAME = "in-memory"
COPIES = "/dev/shm/gaudi3_scale-*"
# All nodes see it, as FSDP2's checkpoints need. Nothing is written there before the job is stopped.
SHARED = f"/shared/{NAME}"
# docs/checkpoints.md: three ranks' gradients may be added up in another order after a restart.
ROUNDING = 1e-6
# A step takes milliseconds here, and several pass while a copy is written.
FEW = 200


def copies_on(node: str) -> list[str]:
    return shell(node, f"ls -d {COPIES}/step-*/manifest.json 2>/dev/null || true").split()


def assert_went_on_from_memory(resumed: int) -> None:
    *_, before, after = map(losses_of, runs("node1", NAME))
    assert runs("node1", NAME)[-1][0]["resumed_copy"] == "memory"
    assert 0 <= max(before) - resumed < FEW
    twice = {step: loss for step, loss in after.items() if step in before}
    assert twice == pytest.approx({step: before[step] for step in twice}, rel=ROUNDING)


def job(sharding: str) -> dict[str, Any]:
    asked = trainer(NAME, "--checkpoint-every", "90000", "--memory-every", "1", "--sharding", sharding)
    return {**asked, "gaudi_training_checkpoint_directory": SHARED if sharding == "fsdp2" else ""}


# tests/node_library/checkpoints/test_memory_copies.py has the losses of an undisturbed run, and what goes wrong.
@pytest.mark.parametrize(
    "sharding", [pytest.param("ddp", marks=pytest.mark.in_turn), pytest.param("fsdp2", marks=pytest.mark.long)]
)
def test_after_a_lost_node_and_a_killed_rank_it_goes_on_from_memory(sharding: str, tmp_path: Path) -> None:
    shell("node1", f"rm -rf {SHARED} && install -d -o gaudi {SHARED}")
    code, said = play(tmp_path / "launch", **job(sharding))
    assert code == 0, said
    generation = wait_for_members(HOSTS, NAME)["generation"]
    wait_for("copies on each node", lambda: all(map(copies_on, HOSTS)))
    wait_for_steps("node1", NAME)
    stop_node("node2")
    generation = wait_for_members(["node1", SPARE, "node3"], NAME, above=generation)["generation"]
    assert_went_on_from_memory(wait_for_resumed("node1", NAME, after=1))
    wait_for("a copy on the spare", lambda: copies_on(SPARE))
    shell("node3", f"kill -KILL {trainer_of('node3', NAME)}")
    wait_for_members(["node1", SPARE, "node3"], NAME, above=generation)
    assert_went_on_from_memory(wait_for_resumed("node1", NAME, after=2))
    directory = f"{SHARED if sharding == 'fsdp2' else f'{JOBS}/{NAME}'}/checkpoints"
    assert checkpoints("node1", directory) == []
    start_node("node2")
    wait_for_steps("node1", NAME)
    code, said = play(tmp_path / "stop", "stop_training", gaudi_training_name=NAME)
    assert code == 0, said
    # It was stopped with a checkpoint, and holds no memory any more.
    assert status("node1", NAME)["outcome"] == "stopped"
    for node in ("node1", SPARE, "node3"):
        assert shell(node, f"ls -d {COPIES} 2>/dev/null || true") == ""
        assert len(checkpoints(node, directory)) == 1
