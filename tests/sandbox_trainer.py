# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A supervised job of the built-in trainer on the scenario's nodes: its options, its losses, its checkpoints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.sandbox_jobs import lines, processes, shell, variables, wait_for

# What the kill of a process, of a node, and an order to stop may cost is counted in these.
CHECKPOINT_EVERY = 25
# Enough for the checkpoints that a test looks at to stay while it does.
CHECKPOINTS_KEPT = 20
JOBS = "/var/lib/gaudi3_scale/jobs"
LOGS, EARLIER = "/var/log/gaudi3_scale/jobs", "/var/log/gaudi3_scale/earlier"
MODULE = "-u -m gaudi3_scale.train "


def trainer(name: str, *arguments: str, **changes: Any) -> dict[str, Any]:
    """Like the other jobs of the scenario, with the trainer: a model of which a step takes milliseconds.

    A global batch of 12 windows is one that two and three ranks can share. The rate of learning rises all the time, so
    that a step with another place in the schedule would have another loss.
    """
    job = {
        **variables(name),
        "gaudi_training_max_steps": 100000,
        "gaudi_training_text": ["/usr/share/common-licenses"],
        "gaudi_training_model": {"layers": 1, "width": 32, "heads": 2, "sequence_length": 32},
        "gaudi_training_batch_size": 2,
        "gaudi_training_global_batch_size": 12,
        "gaudi_training_arguments": [
            *("--metrics-every", "1", "--warmup-steps", "5000", "--validation-batches", "0", "--loggers", "none"),
            *("--checkpoint-every", str(CHECKPOINT_EVERY), "--checkpoints-kept", str(CHECKPOINTS_KEPT), *arguments),
        ],
        # Three ranks share the cores of one machine.
        "gaudi_training_environment": {"OMP_NUM_THREADS": "1"},
        **changes,
    }
    del job["gaudi_training_command"]
    return job


def runs(node: str, name: str) -> list[list[dict[str, Any]]]:
    """The metric lines that rank 0 wrote on this node, by start: those of earlier launches first."""
    text = shell(node, f"cat {EARLIER}/{name}/*/metrics.jsonl {LOGS}/{name}/metrics.jsonl 2>/dev/null || true")
    found: list[list[dict[str, Any]]] = []
    for line in map(json.loads, text.splitlines()):
        if line["kind"] == "start":
            found.append([])
        if found:
            found[-1].append(line)
    return found


def losses_of(run: list[dict[str, Any]]) -> dict[int, float]:
    return {line["step"]: line["loss"] for line in run if line["kind"] == "step"}


def wait_for_checkpoint(node: str, name: str, above: int = 0) -> int:
    """Wait for a checkpoint of a later step than this; returns its step."""

    def newest() -> int:
        made = [line["step"] for line in lines(node, name) if line["kind"] == "checkpoint"]
        return made[-1] if made and made[-1] > above else 0

    return wait_for(f"a checkpoint after step {above}", newest)


def wait_for_resumed(node: str, name: str, after: int) -> int:
    """Wait until the ranks have started more than ``after`` times since the launch, and made a step since; returns the
    step that they went on from."""

    def resumed() -> int:
        reported = lines(node, name)
        starts = [number for number, line in enumerate(reported) if line["kind"] == "start"]
        going = len(starts) > after and any(line["kind"] == "step" for line in reported[starts[-1] :])
        return reported[starts[-1]]["step"] if going else 0

    return wait_for("steps of the next generation", resumed)


def checkpoint(step: int) -> str:
    return f"step-{step:08d}"


def damaged(node: str, folder: str) -> list[tuple[str, str]]:
    """What is not in the folder as its manifest says; the checksums are those of ``sha256sum``."""
    manifest = json.loads(shell(node, f"cat {folder}/manifest.json"))
    sums = dict(
        line.split(maxsplit=1)[::-1]
        for line in shell(
            node, f"cd {folder} && find . -type f ! -name manifest.json -printf '%P\\0' | xargs -0 sha256sum"
        ).splitlines()
    )
    assert sums
    reported = {name: record["sha256"] for name, record in manifest["files"].items()}
    return sorted({*reported.items()} ^ {*sums.items()})


def checkpoints(node: str, directory: str) -> list[str]:
    """The names of the whole checkpoints, in the order of their steps."""
    return shell(node, f"cd {directory} 2>/dev/null && ls -d step-*/manifest.json | cut -d / -f 1 || true").split()


def trainer_of(node: str, name: str) -> int:
    """The process of the node's rank."""
    (found,) = [number for number, command in processes(node, name).items() if MODULE in command]
    return found


@contextmanager
def slowed(node: str, process: int) -> Iterator[None]:
    """The process stands still for nineteen twentieths of the time, in turns shorter than one of its steps."""
    turn = ("os.kill(rank, signal.SIGSTOP)", "time.sleep(0.038)", "os.kill(rank, signal.SIGCONT)", "time.sleep(0.002)")
    script = f"import os, signal, time; rank = {process}\nwhile True: {'; '.join(turn)}"
    # It ends by itself with the process.
    shell(node, f"systemd-run --quiet --collect --unit slowing /usr/bin/python3 -c '{script}'")
    try:
        yield
    finally:
        shell(node, f"systemctl stop slowing 2>/dev/null; kill -CONT {process} 2>/dev/null || true")
