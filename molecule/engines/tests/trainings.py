# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A training by the built-in trainer on two ranks, and what it has told of its steps."""

from __future__ import annotations

import json
import shlex
from concurrent.futures import Future
from typing import Any

from testinfra.host import Host

from tests.sandbox_nodes import Played

from .jobs import until

STEPS, CHECKPOINT_EVERY = 400, 20
TEXT = "/usr/share/common-licenses"
MODEL = {"layers": 2, "width": 64, "heads": 2, "sequence_length": 64}
BATCH = 16
ARGUMENTS = ["--metrics-every", "1", "--checkpoint-every", str(CHECKPOINT_EVERY), "--validation-batches", "0"]
# The order in which a sum is added up, hence its last digits, depends on the number of threads.
ENVIRONMENT = {"OMP_NUM_THREADS": "1"}
TORCHRUN = "/opt/gaudi3_scale/venv/bin/torchrun"

TRAINING = {
    "gaudi_training_text": [TEXT],
    "gaudi_training_max_steps": STEPS,
    "gaudi_training_batch_size": BATCH,
    "gaudi_training_model": MODEL,
    "gaudi_training_arguments": ARGUMENTS,
    "gaudi_training_environment": ENVIRONMENT,
    # It starts twice, and imports PyTorch on every node each time.
    "gaudi_training_timeout": 900,
}


def lines(node: Host, name: str) -> list[dict[str, Any]]:
    """What the job's first rank has told on this node, in all its runs."""
    return _parsed(node, f"/var/log/gaudi3_scale/jobs/{name}/metrics.jsonl")


def of_kind(lines: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["kind"] == kind]


def losses(lines: list[dict[str, Any]]) -> list[tuple[int, float]]:
    """(step, loss) in the order in which they were told."""
    return [(line["step"], line["loss"]) for line in of_kind(lines, "step")]


def wait_for_step(node: Host, name: str, step: int, following: Future[Played] | None = None) -> None:
    """Return when the job has done so many steps and is not yet near its end, nor its ``following`` play."""

    def last() -> str:
        reported = losses(lines(node, name))
        return str(reported[-1][0] if reported else 0)

    said = int(until(last, lambda it: int(it) >= step or (following is not None and following.done())))
    assert following is None or not following.done(), following.result().screen
    assert step <= said < STEPS - 50, f"job {name} is at step {said}"


def checkpoints(node: Host, name: str, jobs: str = "/var/lib/gaudi3_scale/jobs") -> list[int]:
    """The steps of which the node has whole checkpoints."""
    listed = node.run(f"ls {jobs}/{name}/checkpoints").stdout.split()
    return sorted(int(entry.removeprefix("step-")) for entry in listed)


def never_interrupted(node: Host) -> list[tuple[int, float]]:
    """(step, loss) of the same training, started by hand with two ranks on one node."""
    place = "/var/tmp/never-interrupted"
    model = [word for name, value in MODEL.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    command = [TORCHRUN, "--nproc-per-node", "2", "-m", "gaudi3_scale.train", "--text", TEXT, "--device", "cpu"]
    command += ["--max-steps", str(STEPS), "--batch-size", str(BATCH), *model, *ARGUMENTS]
    command += ["--job-dir", place, "--metrics", f"{place}/metrics.jsonl"]
    variables = " ".join(f"{name}={value}" for name, value in ENVIRONMENT.items())
    node.check_output(f"rm -rf {place} && mkdir {place} && {variables} {shlex.join(command)} 2>&1")
    return losses(_parsed(node, f"{place}/metrics.jsonl"))


def _parsed(node: Host, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in node.run(f"cat {path}").stdout.splitlines()]
