# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of others (``tests/programs``) on nodes that share nothing: each is killed after its second checkpoint."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from own_disks import TORCHRUN, OwnDisks
from tests.long_rows import named_rows, rows_of

PROGRAMS = Path(__file__).parents[2] / "programs"
TRANSFORMERS = "--output_dir {directory} --use_cpu --ddp_backend gloo --report_to none --save_steps 10 --max_steps 400"
STEP = "--seconds-per-step 0.05"
# By name: what is run, the second checkpoint, and what each rank says of where it goes on.
ROWS = {
    "ddp": ("bare_ddp.py {directory} --epochs 200 " + STEP, "snapshot.pt", r"from snapshot at epoch (\d+)"),
    "fabric": ("fabric_loop.py {directory} --max-steps 400 " + STEP, "step-000040.ckpt", r"resumes at step (\d+)"),
    "fsdp2": ("fsdp2_dcp.py {directory} --max-steps 400 " + STEP, "step-40/.metadata", r"resumes at step (\d+)"),
    "lightning": (
        "lightning_trainer.py --directory {directory} --max-steps 400 " + STEP,
        "epoch=1-step=40.ckpt",
        r"going on at step (\d+)",
    ),
    "transformers": (
        "hugging_face_trainer.py --seconds_per_sample 0.005 " + TRANSFORMERS,
        "checkpoint-20/trainer_state.json",
        r"resuming training at .*/checkpoint-(\d+)",
    ),
    "trl": (
        "trl_sft.py --per_device_train_batch_size 2 --max_length 32 " + TRANSFORMERS,
        "checkpoint-20/trainer_state.json",
        r"resuming training at .*/checkpoint-(\d+)",
    ),
    "fine_tune": (
        "fine_tuned.py --per_device_train_batch_size 4 " + TRANSFORMERS,
        "checkpoint-20/trainer_state.json",
        r"Resuming from .*/checkpoint-(\d+)",
    ),
    "each node": (
        "hugging_face_trainer.py --seconds_per_sample 0.005 --save_on_each_node " + TRANSFORMERS,
        "checkpoint-20/trainer_state.json",
        r"resuming training at .*/checkpoint-(\d+)",
    ),
}
pytestmark = pytest.mark.skipif(not TORCHRUN.exists(), reason="torch is not installed")


@pytest.mark.in_turn
@pytest.mark.parametrize(("words", "second", "resumed"), named_rows(ROWS, set(rows_of(ROWS, len(ROWS)))))
def test_it_goes_on_from_its_checkpoint_on_each_node(tmp_path, monkeypatch, words, second, resumed):
    if words.startswith("trl"):
        # It stands on pyarrow, which nothing else here needs: on nodes it is installed for its own test.
        pytest.importorskip("trl")
    for name, value in {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "HF_HUB_OFFLINE": "1"}.items():
        monkeypatch.setenv(name, value)
    file, *arguments = words.split()
    nodes = OwnDisks(tmp_path, ["a", "b"], program=[PROGRAMS / file, *arguments])
    try:
        nodes.start()
        written = nodes.kept("a") / second
        nodes.wait(written.exists, 120)
        first = written.stat().st_mtime_ns
        # The one that is written over has been written twice.
        nodes.wait(lambda: second != "snapshot.pt" or written.stat().st_mtime_ns > first, 60)
        os.kill(nodes.ranks()[1], signal.SIGKILL)
        nodes.wait(lambda: all(re.search(resumed, nodes.printed(name)) for name in "ab"), 120)
        steps = {name: [int(step) for step in re.findall(resumed, nodes.printed(name))] for name in "ab"}
        assert steps["a"] == steps["b"]
        assert steps["a"][0] >= min(40, int((re.findall(r"\d+", second) or ["4"])[-1]))
        assert len(nodes.texts("handed_over")) == 1
        nodes.wait(lambda: nodes.status("a").get("generation") == 2 and len(nodes.ranks()) == 2, 30)
    finally:
        nodes.kill_all()
