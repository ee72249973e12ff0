# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Why a job over both nodes is slow: a program whose second rank sleeps in its backward pass, and the trainer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import Played

SCRIPT = "/var/tmp/profiled.py"
SLEEPS = 0.1
PROGRAM = f"""
import os, time, torch
from torch.nn.parallel import DistributedDataParallel
from gaudi3_scale.profiler import GaudiProfiler

class Sleeps(torch.autograd.Function):
    @staticmethod
    def forward(context, tensor):
        return tensor * 1

    @staticmethod
    def backward(context, gradient):
        time.sleep({SLEEPS} if os.environ["RANK"] == "1" else 0.0)
        return gradient

torch.distributed.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(256, 256))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
place = os.environ["GAUDI3_SCALE_JOB_DIR"] + "/profile"
profiler = GaudiProfiler(schedule_wait=3, schedule_clocked=12, directory=place, device=torch.device("cpu"))
with profiler:
    while not profiler.done:
        Sleeps.apply(model(torch.ones(8, 256))).sum().backward()
        optimizer.step()
        profiler.step()
torch.distributed.barrier()
torch.distributed.destroy_process_group()
"""


@pytest.fixture(autouse=True)
def ended(play: Callable[..., Played]) -> Iterator[None]:
    yield
    for name in ("sleepy", "own"):
        play("stop_training", gaudi_training_name=name)


def verdict(directory: Path, job: str) -> dict[str, object]:
    page = json.loads((directory / f"profile-{job}.json").read_text(encoding="utf-8"))
    found: dict[str, object] = page["data"]["verdict"]
    return found


def test_the_slow_rank_of_a_job_is_named_over_both_nodes(
    play: Callable[..., Played], nodes: dict[str, Host], tmp_path: Path
) -> None:
    for node in nodes.values():
        node.check_output(f"cat > {SCRIPT} <<'END'{PROGRAM}END")
    launched = play(
        "launch_training",
        gaudi_training_name="sleepy",
        gaudi_training_command=[SCRIPT],
        gaudi_training_processes_per_node=1,
        gaudi_training_max_restarts=0,
    )
    assert launched.status == "successful", launched.screen
    judged = play("profile_training", gaudi_training_name="sleepy")
    assert (judged.status, judged.changed) == ("successful", 0), judged.screen
    found = verdict(tmp_path, "sleepy")
    slow = [cause for cause in found["causes"] if cause["cause"] == "slow rank"]  # type: ignore[attr-defined]
    assert [(cause["ranks"], cause["node"], cause["part"]) for cause in slow] == [([1], sorted(nodes)[1], "backward")]
    assert slow[0]["share"] == pytest.approx(SLEEPS / found["step_seconds"], abs=0.1)  # type: ignore[operator]
    assert "rank 1 on" in judged.screen
    # The same on a node, of its own rank: the others' are on theirs.
    node = nodes[sorted(nodes)[1]]
    said = node.run("/opt/gaudi3_scale/venv/bin/gaudi3_scale profile /var/lib/gaudi3_scale/jobs/sleepy")
    assert said.rc == 0, said.stderr
    assert said.stdout.startswith("Not enough seen: 1 of 2 ranks have a profile; gather those of all nodes.")


@pytest.mark.in_turn
def test_the_trainer_profiles_itself(play: Callable[..., Played], tmp_path: Path) -> None:
    launched = play(
        "launch_training",
        gaudi_training_name="own",
        gaudi_training_batch_size=8,
        gaudi_training_processes_per_node=1,
        gaudi_training_max_restarts=0,
        gaudi_training_arguments=["--profile", "--profile-ranks", "all", "--profile-links"],
    )
    assert launched.status == "successful", launched.screen
    judged = play("profile_training", gaudi_training_name="own")
    assert judged.status == "successful", judged.screen
    found = verdict(tmp_path, "own")
    assert found["missing"] == ""
    assert found["causes"]
    assert "2 of 2 ranks; shares are of a mean step" in judged.screen


def test_a_job_without_a_profile_is_one_sentence(play: Callable[..., Played]) -> None:
    refused = play("profile_training", gaudi_training_name="nobody")
    assert refused.status == "failed"
    assert [text for text in refused.messages if "This node knows no job nobody; launch it" in text]
