# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A real ansible-rulebook that listens for alerts with a rulebook of the collection, on this machine's loopback."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
READY_S = 120.0


@contextmanager
def running(
    directory: Path,
    name: str,
    token: str,
    nodes: Mapping[str, Any],
    port: int = 0,
    arguments: Sequence[str] = (),
    configuration: Path = ROOT / "ansible.cfg",
) -> Iterator[int]:
    """The port at which the rulebook of that name listens, a free one where none is given.

    ``nodes`` are its inventory's, and ``configuration`` Ansible's. What it says is in rulebook.log in the directory.
    """
    program = Path(sys.executable).with_name("ansible-rulebook")
    port = port or free_port()
    variables = directory / "variables.json"
    variables.write_text(json.dumps({"gaudi_alerts_token": token, "gaudi_alerts_port": port}))
    # As it may lie anywhere, with the collection on Ansible's path.
    project = directory / "project"
    project.mkdir()
    shutil.copy(ROOT / "extensions" / "eda" / "rulebooks" / f"{name}.yml", project)
    # It copies its inventory, and a program would be no program any more.
    inventory = directory / "nodes.json"
    # Nor are marks of such nodes for the home of who runs this.
    site = {"gaudi_quarantine_marks": str(directory / "quarantine.json")}
    inventory.write_text(json.dumps({"gaudi": {"hosts": nodes, "vars": site}}))
    with (directory / "rulebook.log").open("w") as log:
        rulebook = subprocess.Popen(
            [
                program,
                *("--rulebook", project / f"{name}.yml"),
                *("--inventory", inventory),
                *("--vars", variables),
                *arguments,
            ],
            cwd=project,
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                "ANSIBLE_CONFIG": str(configuration),
            },
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            waits(lambda: reaches(port) or rulebook.poll() is not None, READY_S)
            assert rulebook.poll() is None, said(directory)
            yield port
        finally:
            rulebook.terminate()
            rulebook.wait()


def said(directory: Path) -> str:
    """The end of what the rulebook said."""
    return (directory / "rulebook.log").read_text()[-4000:]


def waits(is_so: Callable[[], object], seconds: float) -> bool:
    """Whether it is so within that time."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def reaches(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
