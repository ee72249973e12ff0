# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A real ansible-rulebook that listens for alerts with the collection's rulebook, on this machine's loopback."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .sandbox_jobs import wait_for
from .sandbox_nodes import ROOT, hostvars

READY_S = 120.0


@contextmanager
def listening(directory: Path, token: str, port: int = 0, **of_each_node: Any) -> Iterator[int]:
    """The port at which it listens, a free one where none is given; ``of_each_node`` are variables of its inventory.

    What it says is in rulebook.log in the directory.
    """
    program = Path(sys.executable).with_name("ansible-rulebook")
    port = port or free_port()
    variables = directory / "variables.json"
    variables.write_text(json.dumps({"gaudi_alerts_token": token, "gaudi_alerts_port": port}))
    # As it may lie anywhere, with the collection on Ansible's path.
    project = directory / "project"
    project.mkdir()
    shutil.copy(ROOT / "extensions" / "eda" / "rulebooks" / "quarantine.yml", project)
    # It copies its inventory, and a program would be no program any more.
    inventory = directory / "nodes.json"
    nodes = {name: {**known, **of_each_node} for name, known in hostvars().items()}
    inventory.write_text(json.dumps({"gaudi": {"hosts": nodes}}))
    with (directory / "rulebook.log").open("w") as log:
        running = subprocess.Popen(
            [program, "--rulebook", project / "quarantine.yml", "--inventory", inventory, "--vars", variables],
            cwd=project,
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            },
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_for("a rulebook that listens", lambda: reaches(port) or running.poll() is not None, READY_S)
            assert running.poll() is None, said(directory)
            yield port
        finally:
            running.terminate()
            running.wait()


def said(directory: Path) -> str:
    """The end of what the rulebook said."""
    return (directory / "rulebook.log").read_text()[-4000:]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def reaches(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
