# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import signal
import socket
import time
from pathlib import Path

import pytest
from gaudi3_scale.core.errors import GaudiError

from gaudi3_scale.ranks import Ranks, ranks_from
from job_runs import SMALL_MODEL, end_of, losses, read_lines, torchrun


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def errors(directory: Path) -> list[str]:
    return [json.loads(path.read_text())["message"]["message"] for path in directory.rglob("error.json")]


def test_torchrun_says_which_rank_this_is():
    assert ranks_from({}) == Ranks(0, 1, 0, 1, launched=False)
    found = ranks_from({"RANK": "11", "WORLD_SIZE": "16", "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "8"})
    assert found == Ranks(11, 16, 3, 8, launched=True)
    assert found.nodes == 2
    with pytest.raises(GaudiError, match="RANK is set but LOCAL_RANK, LOCAL_WORLD_SIZE is not"):
        ranks_from({"RANK": "0", "WORLD_SIZE": "1"})


def test_a_failing_rank_writes_its_own_error(tmp_path):
    script = tmp_path / "job.py"
    script.write_text(
        "import os, sys, torch\n"
        "from gaudi3_scale.ranks import join, ranks_from, run_rank\n"
        "def body(arguments):\n"
        "    ranks = ranks_from(os.environ)\n"
        "    join(ranks, torch.device('cpu'))\n"
        "    if ranks.rank == 1:\n"
        "        raise ValueError('the seventh sample is broken')\n"
        "    torch.distributed.barrier()\n"
        "run_rank('job', body, sys.argv[1:])\n"
    )
    status, output = end_of(torchrun(tmp_path, script))
    assert status == 1
    assert "ValueError: the seventh sample is broken" in errors(tmp_path / "ranks")
    assert "the seventh sample is broken" in output


def test_a_wrong_option_is_in_the_error_file_too(tmp_path):
    status, _ = end_of(torchrun(tmp_path, "-m", "gaudi3_scale.train", "--text", "/nothing", "--max-steps", 3, ranks=1))
    assert status == 1
    sentence = "--text /nothing: there is no such file or directory on this node."
    assert errors(tmp_path / "ranks") == [f"GaudiError: {sentence}"]
    (stderr,) = (tmp_path / "ranks").rglob("stderr.log")
    assert stderr.read_text() == f"gaudi3_scale.train: {sentence}\n"


def train_on_two_nodes(tmp_path: Path, *options: object) -> list[int]:
    port = free_port()
    command = ["-m", "gaudi3_scale.train", "--device", "cpu", *SMALL_MODEL, "--metrics-every", 1, *options]
    folders = [tmp_path / name for name in ("first", "second")]
    nodes = [torchrun(each, *command, ranks=1, node=i, nodes=2, port=port) for i, each in enumerate(folders)]
    return [end_of(node)[0] for node in nodes]


def test_every_node_keeps_its_own_checkpoint_and_resumes_from_what_all_have(text, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    plan = ["--text", text, "--checkpoint-every", 2, "--checkpoints-kept", 3]
    assert train_on_two_nodes(tmp_path, *plan, "--max-steps", 5) == [0, 0]
    names = ["step-00000002.ckpt", "step-00000004.ckpt", "step-00000005.ckpt"]
    for node in (first, second):
        assert sorted(path.name for path in (node / "checkpoints").iterdir()) == names
    assert not (second / "metrics.jsonl").exists()
    before = losses(read_lines(first / "metrics.jsonl"))

    (second / "checkpoints" / names[2]).rename(second / "checkpoints" / ".step-00000005.ckpt.second-1")
    assert train_on_two_nodes(tmp_path, *plan, "--max-steps", 6) == [0, 0]
    resumed = [line for line in read_lines(first / "metrics.jsonl") if line["kind"] == "start"][1]
    assert (resumed["resumed_from"], resumed["world_size"], resumed["nodes"]) == (4, 2, 2)
    assert losses(read_lines(first / "metrics.jsonl"))[5] == pytest.approx(before[5], rel=0.01)


def test_a_job_that_is_told_to_stop_ends_soon_and_goes_on_later(text, tmp_path):
    command = ["-m", "gaudi3_scale.train", "--text", text, "--device", "cpu", *SMALL_MODEL]
    often = ["--metrics-every", 1, "--checkpoint-every", 5]
    job = torchrun(tmp_path, *command, *often, "--max-steps", 100000)
    metrics = tmp_path / "metrics.jsonl"
    deadline = time.monotonic() + 90
    while not any(line["kind"] == "checkpoint" for line in read_lines(metrics)):
        assert time.monotonic() < deadline, job.poll()
        time.sleep(0.1)
    asked = time.monotonic()
    job.send_signal(signal.SIGTERM)
    end_of(job)
    assert time.monotonic() - asked < 25  # torchrun would kill after 30
    newest = max(line["step"] for line in read_lines(metrics) if line["kind"] == "checkpoint")
    status, output = end_of(torchrun(tmp_path, *command, *often, "--max-steps", newest + 2))
    assert status == 0, output
    assert read_lines(metrics)[-1]["step"] == newest + 2
