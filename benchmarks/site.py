# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How much work `site.yml` is: tasks, module runs on a node and seconds per layer, first and second run.

    .venv/bin/python -m benchmarks.site --nodes 1 2 4

Makes sandboxes of its own, runs the playbook through ansible-runner (the engine of AWX) and removes them again.
Counts compare between machines; seconds only within one run of this program.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import ansible_runner

from benchmarks.playbook_events import PlayCount, count_plays

ROOT = Path(__file__).resolve().parent.parent
SANDBOX = "gaudi3-bench"


def main() -> int:
    """Measure each size in turn; returns the number of runs that failed."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 4], metavar="N", help="sandbox sizes")
    options.add_argument("--json", type=Path, help="also write the figures here")
    arguments = options.parse_args()
    figures = [figure for nodes in arguments.nodes for figure in measure(nodes)]
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")
    return sum(figure["status"] != "successful" for figure in figures)


def measure(nodes: int) -> list[dict[str, object]]:
    """First and second run on ``nodes`` virgin nodes."""
    sandbox("up", "--name", SANDBOX, "--nodes", str(nodes))
    try:
        return [show(nodes, label, *run_site()) for label in ("first", "second")]
    finally:
        sandbox("down", "--name", SANDBOX)


def sandbox(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "sandbox", *arguments], cwd=ROOT, check=True)


def run_site() -> tuple[str, list[PlayCount]]:
    """One run of the playbook: ansible-runner's status, and the counts per play."""
    with tempfile.TemporaryDirectory() as private:
        run = ansible_runner.run(
            private_data_dir=private,
            project_dir=str(ROOT),
            playbook="playbooks/site.yml",
            inventory=str(ROOT / "inventories" / "sandbox"),
            envvars={"GAUDI_SANDBOX": SANDBOX, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "PATH": search_path()},
            quiet=True,
        )
        if run.rc:
            print(run.stdout.read()[-4000:], file=sys.stderr)
        return run.status, count_plays(run.events)


def search_path() -> str:
    """The programs of this Python's own environment first, also where nobody activated it."""
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def show(nodes: int, label: str, status: str, plays: list[PlayCount]) -> dict[str, object]:
    """Print one table; returns the same figures."""
    print(f"\n{nodes} node(s), {label} run: {status}")
    print(f"{'layer':28} {'tasks':>6} {'on a node':>10} {'changed':>8} {'seconds':>8}")
    total = PlayCount(
        "total",
        sum(play.tasks for play in plays),
        sum(play.remote_per_host for play in plays),
        sum(play.changed for play in plays),
        sum(play.seconds for play in plays),
    )
    for play in [*plays, total]:
        print(f"{play.name:28} {play.tasks:6} {play.remote_per_host:10} {play.changed:8} {play.seconds:8.1f}")
    return {"nodes": nodes, "run": label, "status": status, "plays": [vars(play) for play in [*plays, total]]}


if __name__ == "__main__":
    sys.exit(main())
