# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A sandbox of the benchmarks' own, one run of a playbook on it through ansible-runner, and a table of its plays."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ansible_runner

from benchmarks.playbook_events import PlayCount, count_plays

ROOT = Path(__file__).resolve().parent.parent
SANDBOX = "gaudi3-bench"


def sandbox(*arguments: str) -> None:
    """``python3 -m sandbox`` about the benchmarks' own nodes."""
    subprocess.run([sys.executable, "-m", "sandbox", *arguments, "--name", SANDBOX], cwd=ROOT, check=True)


def run(playbook: str, **variables: object) -> tuple[str, list[PlayCount]]:
    """One run of the playbook: ansible-runner's status, and the counts per play."""
    status, events = run_events(playbook, variables)
    return status, count_plays(events)


def run_events(
    playbook: str, variables: Mapping[str, object], nodes: str = SANDBOX
) -> tuple[str, list[dict[str, Any]]]:
    """One run of the playbook on the sandbox ``nodes``: ansible-runner's status and its events."""
    with tempfile.TemporaryDirectory() as private:
        result = ansible_runner.run(
            private_data_dir=private,
            project_dir=str(ROOT),
            playbook=f"playbooks/{playbook}.yml",
            inventory=str(ROOT / "inventories" / "sandbox"),
            extravars=variables,
            envvars={
                "GAUDI_SANDBOX": nodes,
                "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
                "PATH": search_path(),
            },
            quiet=True,
        )
        if result.rc:
            print(result.stdout.read()[-4000:], file=sys.stderr)
        return result.status, list(result.events)


def search_path() -> str:
    """The programs of this Python's own environment first, also where nobody activated it."""
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def total(plays: Sequence[PlayCount]) -> PlayCount:
    """All plays of a run as one."""
    return PlayCount(
        "total",
        sum(play.tasks for play in plays),
        sum(play.remote_per_host for play in plays),
        sum(play.changed for play in plays),
        sum(play.seconds for play in plays),
    )


def show(nodes: int, label: str, status: str, plays: Sequence[PlayCount]) -> dict[str, object]:
    """Print one table; returns the same figures."""
    print(f"\n{nodes} node(s), {label}: {status}")
    print(f"{'play':28} {'tasks':>6} {'on a node':>10} {'changed':>8} {'seconds':>8}")
    rows = [*plays, total(plays)]
    for play in rows:
        print(f"{play.name:28} {play.tasks:6} {play.remote_per_host:10} {play.changed:8} {play.seconds:8.1f}")
    return {"nodes": nodes, "run": label, "status": status, "plays": [vars(play) for play in rows]}
