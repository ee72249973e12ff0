# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of the node library for the tests, and what they leave behind."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Callable

from tests.whole_lines import whole_lines

BRIDGE = Path(__file__).parent / "bridge_stand_in"
"""The folder of the package that stands in for habana_frameworks."""

SMALL_MODEL = ["--layers", "1", "--width", "32", "--heads", "2", "--sequence-length", "32", "--batch-size", "8"]


def read_lines(path: Path) -> list[dict]:
    return whole_lines(path.read_text()) if path.exists() else []


def losses(lines: list[dict]) -> dict[int, float]:
    return {line["step"]: line["loss"] for line in lines if line["kind"] == "step"}


def files_of(directory: Path) -> dict[str, str]:
    """Where a job keeps what it keeps, as its environment says it."""
    return {"GAUDI3_SCALE_JOB_DIR": str(directory), "GAUDI3_SCALE_METRICS": str(directory / "metrics.jsonl")}


def torchrun(directory: Path, *command: object, ranks: int = 2, node: int = 0, nodes: int = 1, port: int = 0):
    """Start one node's torchrun; its ranks' logs and error files lie under ``directory``/ranks."""
    where = ["--master-addr", "127.0.0.1", "--master-port", port, "--node-rank", node]
    rendezvous = ["--rdzv-backend", "static", *where] if nodes > 1 else ["--standalone"]
    logs = ["--log-dir", directory / "ranks", "--redirects", 3]
    options = ["--nnodes", nodes, "--nproc-per-node", ranks, *rendezvous, *logs]
    return subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", *map(str, [*options, *command])],
        env={**os.environ, **files_of(directory), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def end_of(process: subprocess.Popen, timeout: float = 120) -> tuple[int, str]:
    """Exit status and output; the process is ended if it takes longer."""
    try:
        output, _ = process.communicate(timeout=timeout)
    finally:
        process.kill()
    return process.returncode, output


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_until(true: Callable[[], object], process: subprocess.Popen | BaseProcess, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        alive = process.is_alive() if isinstance(process, BaseProcess) else process.poll() is None
        assert alive, "it ended before"
        assert time.monotonic() < deadline
        time.sleep(0.01)


def ranks_of(agent: subprocess.Popen) -> list[int]:
    """The process ids of a torchrun's ranks, by their number."""
    children = map(int, Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split())
    variables = {child: Path(f"/proc/{child}/environ").read_bytes().split(b"\0") for child in children}
    numbers = {int(one[5:]): child for child, all_ in variables.items() for one in all_ if one.startswith(b"RANK=")}
    return [numbers[rank] for rank in sorted(numbers)]
