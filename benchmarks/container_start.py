# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A job in containers against the same job without, from `launch_training.yml` to the first finished step.

    .venv/bin/python -m benchmarks.container_start

By turns: bare; in an image that the nodes have to fetch from a registry and unpack; in the image that they have by
then. The image has the nodes' own Python, and takes PyTorch from the training venv, which is mounted; an image of the
vendor's is larger, so that fetching it takes longer than here. Needs root, and Debian's mirror for podman, skopeo and
the registry. Makes a sandbox of its own and removes it again; ``--sandbox NAME`` takes one with the training stack on
node1 and node2.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.launch import SCRIPT, by_playbook
from benchmarks.playbook_run import SANDBOX, run, sandbox

HOSTS = ["node1", "node2"]
# A directory that holds nothing else: a container sees the script's whole directory.
PROGRAM = "/srv/bench/trainee.py"
KINDS = ("bare", "fetched", "there")
SAID = {
    "bare": "without a container",
    "fetched": "in a container, image fetched",
    "there": "in a container, image there",
}


def main() -> int:
    """Measure the three kinds by turns, and print the medians."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    options.add_argument("--repeat", type=int, default=3, help="launches of each kind; the median counts")
    options.add_argument("--sandbox", help="nodes that have the training stack already")
    options.add_argument("--json", type=Path, help="also write the figures here")
    arguments = options.parse_args()
    os.environ["GAUDI_SANDBOX"] = arguments.sandbox or SANDBOX
    if arguments.sandbox is None:
        sandbox("up", "--nodes", str(len(HOSTS)))
        status, _plays = run("venv")
        if status != "successful":
            sys.exit(f"venv.yml: {status}")
    try:
        turns = measure(arguments.repeat)
    finally:
        if arguments.sandbox is None:
            sandbox("down")
    return show(turns, arguments.json)


def measure(repeat: int) -> list[dict[str, float]]:
    """Seconds of each kind, turn by turn."""
    # They look for the nodes of GAUDI_SANDBOX when they are imported.
    from tests import sandbox_jobs as jobs
    from tests.site_images import STORE, TEAM, VENV, make_images

    make_images()
    for host in HOSTS:
        jobs.shell(host, f"mkdir -p {Path(PROGRAM).parent}")
        jobs.podman("cp", str(SCRIPT), f"{os.environ['GAUDI_SANDBOX']}-{host}:{PROGRAM}")
    job = {"gaudi_training_command": [PROGRAM, "1", "0"]}
    container: dict[str, Any] = {
        **job,
        "gaudi_training_image": f"{TEAM}/train:1.24.1-482",
        "gaudi_training_mounts": [f"{VENV}:ro"],
        "gaudi_plain_http_hosts": ["packages.sandbox.internal", "node1"],
    }
    turns = []
    for turn in range(repeat):
        bare = by_playbook(jobs, HOSTS, **job)
        for host in HOSTS:
            jobs.shell(host, f"rm -rf {STORE}")
        fetched, there = (by_playbook(jobs, HOSTS, **container) for _launch in range(2))
        turns.append(dict(zip(KINDS, (bare, fetched, there), strict=True)))
        print(
            f"turn {turn}: " + ", ".join(f"{SAID[kind]} {took:.1f} s" for kind, took in turns[-1].items()), flush=True
        )
    return turns


def show(turns: Sequence[dict[str, float]], file: Path | None) -> int:
    """Print the medians, and write what was asked for."""
    print(
        f"{len(HOSTS)} nodes, medians of {len(turns)}, seconds until the first step, and more than without a container:"
    )
    figures: dict[str, Any] = {"turns": list(turns)}
    for kind in KINDS:
        took = statistics.median(turn[kind] for turn in turns)
        more = statistics.median(turn[kind] - turn["bare"] for turn in turns)
        figures[kind] = {"seconds": took, "more": more}
        print(f"  {SAID[kind]:30} {took:7.1f} {more:7.1f}")
    if file:
        file.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
