# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Two ranks of a user's own Lightning script, started by Lightning itself and by torchrun; gloo is in HCCL's place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from forked_ranks import ends_of, said_in, start_script
from job_runs import BRIDGE

SCRIPT = Path(__file__).parents[1] / "lightning_script.py"
BY_TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory):
    """``two_ranks(launcher, strategy, steps, directory, checkpoint)`` is what each rank wrote at its end."""

    def run(
        launcher: list[str] | None, strategy: str, steps: int, directory: Path | None = None, *checkpoint: Path
    ) -> list[dict]:
        directory = directory or tmp_path_factory.mktemp(strategy)
        paths = os.pathsep.join([str(BRIDGE), *filter(None, [os.environ.get("PYTHONPATH")])])
        words = [strategy, str(steps), directory, *checkpoint]
        (forked if launcher is None else launched)(launcher, words, directory, {"PYTHONPATH": paths})
        return [json.loads((directory / f"rank{rank}.json").read_text()) for rank in range(2)]

    return run


def launched(launcher: list[str], words: list[object], _directory: Path, variables: dict[str, str]) -> None:
    ended = subprocess.run(
        [sys.executable, *launcher, SCRIPT, *words],
        env={**os.environ, **variables, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def forked(_launcher: None, words: list[object], directory: Path, variables: dict[str, str]) -> None:
    """Where it is the same who started them; Lightning is told that it was torchrun."""
    ranks = start_script(directory, SCRIPT, *words, variables={**variables, "TORCHELASTIC_RUN_ID": "test"})
    assert ends_of(ranks) == [0, 0], said_in(directory)


@pytest.fixture(scope="module")
def plain(two_ranks):
    """The same script with Lightning's own data parallelism on the CPU, uninterrupted."""
    return two_ranks(None, "ddp", 6)


@pytest.mark.in_turn
def test_lightnings_launcher_tells_the_bridge_its_ranks(two_ranks, plain):
    ranks = two_ranks([], "habana_ddp", 6)
    assert [rank["reported"] for rank in ranks] == [[[2, 0, 0]], [[2, 1, 1]]]
    assert {rank["backend"] for rank in ranks} == {"hccl"}
    assert [rank["losses"] for rank in ranks] == [rank["losses"] for rank in plain]


@pytest.mark.in_turn
def test_fsdp2_under_torchrun_learns_the_same_with_half_the_weights_and_goes_on(two_ranks, plain, tmp_path):
    first = two_ranks(BY_TORCHRUN, "habana_fsdp2", 3, tmp_path)
    second = two_ranks(None, "habana_fsdp2", 6, None, tmp_path / "end.ckpt")
    assert {rank["backend"] for rank in first + second} == {"hccl"}
    assert [rank["held"] for rank in first] == [whole["held"] // 2 for whole in plain]
    for rank in range(2):
        losses = first[rank]["losses"] + second[rank]["losses"]
        assert losses == pytest.approx(plain[rank]["losses"], rel=1e-6)
