# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Two jobs of four cards on one node: side by side, against one after the other.

    .venv/bin/python -m benchmarks.part_of_node

Seconds from the first `launch_training.yml` until the last job has ended, by turns. A simulated card computes nothing:
a step is a wait of ``--seconds`` and an all-reduce over the job's ranks on the CPU. So what is measured is what the
launches, the supervisors and the ports of two jobs cost each other, and not how two trainings share memory bandwidth or
power. Needs root. Makes a sandbox of its own and removes it again; ``--sandbox NAME`` takes one that site.yml has
brought up.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.launch import SCRIPT, forget, wait_for_the_end
from benchmarks.playbook_run import SANDBOX, run, sandbox

HOSTS = ["node1"]
CARDS = 4
NAMES = ("bench-left", "bench-right")
# What a job on cards needs of a node: the driver, the training venv, the vendor's environment.
LAYERS = ("driver", "venv", "flags")


def main() -> int:
    """Measure both ways by turns, and print the medians and their ratio."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    options.add_argument("--repeat", type=int, default=3, help="turns; the median counts")
    options.add_argument("--steps", type=int, default=200, help="steps of each job")
    options.add_argument("--seconds", type=float, default=0.3, help="a step's wait")
    options.add_argument("--sandbox", help="nodes that site.yml has brought up")
    options.add_argument("--json", type=Path, help="also write the figures here")
    arguments = options.parse_args()
    os.environ["GAUDI_SANDBOX"] = arguments.sandbox or SANDBOX
    if arguments.sandbox is None:
        bring_node()
    # It looks for the nodes of GAUDI_SANDBOX when it is imported.
    from tests import sandbox_jobs as jobs

    command = [jobs.TRAINEE, str(arguments.steps), str(arguments.seconds)]
    try:
        jobs.podman("cp", str(SCRIPT), f"{os.environ['GAUDI_SANDBOX']}-{HOSTS[0]}:{jobs.TRAINEE}")
        pairs = [
            (seconds_of(one_after_other, jobs, command), seconds_of(together, jobs, command))
            for _turn in range(arguments.repeat)
        ]
    finally:
        if arguments.sandbox is None:
            sandbox("down")
    return show(pairs, arguments)


def bring_node() -> None:
    """A node of the benchmark's own, with all that a job needs."""
    sandbox("up", "--nodes", str(len(HOSTS)))
    for layer in LAYERS:
        status, _plays = run(layer)
        if status != "successful":
            sys.exit(f"{layer}.yml: {status}")


def seconds_of(way: Callable[[Any, list[str]], None], jobs: Any, command: list[str]) -> float:
    """Seconds until both jobs have ended, each with all of its steps."""
    for name in NAMES:
        forget(jobs, HOSTS, name)
    began = time.monotonic()
    way(jobs, command)
    took = time.monotonic() - began
    for name in NAMES:
        made = len(jobs.steps(HOSTS[0], name))
        if made != int(command[1]):
            sys.exit(f"job {name} has made {made} steps of {command[1]}: {jobs.status(HOSTS[0], name)}")
    print(f"{way.__name__}: {took:.1f} s", flush=True)
    return took


def one_after_other(jobs: Any, command: list[str]) -> None:
    """The second job begins when the first one has ended."""
    for name in NAMES:
        begin(jobs, name, command)
        wait_for_the_end(jobs, HOSTS, name)


def together(jobs: Any, command: list[str]) -> None:
    """Both at once, on cards of their own."""
    for name in NAMES:
        begin(jobs, name, command)
    for name in NAMES:
        wait_for_the_end(jobs, HOSTS, name)
    left, right = (modules(jobs, name) for name in NAMES)
    if len(left) != CARDS or len(right) != CARDS or left & right:
        sys.exit(f"the jobs had modules {sorted(left)} and {sorted(right)}")


def begin(jobs: Any, name: str, command: list[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        code, said = jobs.play(Path(directory), **wish(name, command))
    if code:
        sys.exit(said)


def modules(jobs: Any, name: str) -> set[int]:
    """Those of the job's last run, as the node has noted them."""
    noted = json.loads(jobs.shell(HOSTS[0], f"cat /var/lib/gaudi3_scale/control/{name}/started.json"))
    return set(noted["modules"])


def wish(name: str, command: list[str]) -> dict[str, Any]:
    """A job of half a node, which nothing starts again."""
    return {
        "gaudi_training_name": name,
        "gaudi_training_hosts": HOSTS,
        "gaudi_training_processes_per_node": CARDS,
        "gaudi_training_device": "hpu",
        # Eight ranks have more than the cores of the machine that plays the node.
        "gaudi_training_bind": "none",
        "gaudi_training_command": command,
        "gaudi_training_environment": {"OMP_NUM_THREADS": "1"},
        "gaudi_training_max_restarts": 0,
        "gaudi_training_follow": False,
    }


def show(pairs: list[tuple[float, float]], arguments: argparse.Namespace) -> int:
    """Print the medians, and write what was asked for."""
    after, side = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(one / both for one, both in pairs)
    waits = arguments.steps * arguments.seconds
    print(f"medians of {len(pairs)}, two jobs of {CARDS} cards, {arguments.steps} steps of {arguments.seconds} s each:")
    print(f"  one after the other {after:8.1f} s, of which the steps wait {2 * waits:.0f} s")
    print(f"  side by side        {side:8.1f} s, of which the steps wait {waits:.0f} s")
    print(f"  {ratio:.2f} times as fast; 2 where one job costs the other nothing")
    if arguments.json:
        figures = {"one after the other": after, "side by side": side, "ratio": ratio, "pairs": pairs}
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
