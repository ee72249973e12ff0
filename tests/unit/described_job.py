# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The job that tests describe: as a value alone, and on a node that has all it needs."""

from __future__ import annotations

import getpass
import socket
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import Job

PATHS = JobPaths("llama")


def described_job(**changes: Any) -> Job:
    """The worker group of the first of two nodes with eight cards each."""
    described: dict[str, Any] = {
        "name": "llama",
        "hosts": ("n2", "n1"),
        "host": "n2",
        "processes_per_node": 8,
        "rendezvous_address": "192.0.2.2",
        "rendezvous_port": 29500,
        "command": ("train.py", "--lr", "0.1"),
        "venv": "/opt/venv",
    }
    return Job(**{**described, **changes})


def job_on(node: Path, **changes: Any) -> Job:
    """The worker group of a node below whose directory ``node`` venv and script are; on the CPU, and unbound."""
    for name in ("torchrun", "python"):
        program = node / "venv/bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)
    (node / "x.py").touch()
    described: dict[str, Any] = {
        "name": "demo",
        "hosts": ("n1", "n2"),
        "host": "n1",
        "processes_per_node": 2,
        "rendezvous_address": "127.0.0.1",
        "rendezvous_port": free_port(),
        "command": ("x.py",),
        "venv": str(node / "venv"),
        "working_directory": str(node),
        "user": getpass.getuser(),
        "device": "cpu",
        # Whatever machine the tests run on.
        "bind": "none",
    }
    return described_job(**{**described, **changes})


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("", 0))
        port: int = server.getsockname()[1]
        return port
