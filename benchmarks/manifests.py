# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How long it takes to write the Kubernetes manifests of big jobs, and of many small ones.

    .venv/bin/python -m benchmarks.manifests

In this process, without the start of ansible-playbook and without a disk. Prints the medians of some rounds: one job
of all nodes in each kind, and a job for each node. Fails where a big job takes longer than the goal.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / ".collections"))

from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.render import render
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kubernetes.wanted import KINDS

GOAL_S = 2.0


def main() -> int:
    """Measure and print; returns 1 where a manifest misses the goal."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--nodes", type=int, default=512, metavar="N", help="nodes, of eight cards each")
    options.add_argument("--rounds", type=int, default=10, metavar="N", help="rounds of each measurement")
    options.add_argument("--json", type=Path, help="also write the figures here")
    arguments = options.parse_args()
    figures: dict[str, float] = {}
    for kind in KINDS:
        big = described(kind, "big", arguments.nodes)
        figures[kind] = median(partial(render, big), arguments.rounds)
        print(f"one {kind} of {arguments.nodes} nodes in {figures[kind]:.3f} s; goal {GOAL_S:.0f} s")
    many = [described("job", f"job-{number}", 1) for number in range(arguments.nodes)]
    figures["a job for each node"] = median(lambda: [render(one) for one in many], 1)
    print(f"{arguments.nodes} jobs of one node in {figures['a job for each node']:.2f} s")
    if arguments.json:
        arguments.json.write_text(json.dumps({"nodes": arguments.nodes, **figures}, indent=2) + "\n")
    return int(max(figures[kind] for kind in KINDS) > GOAL_S)


def described(kind: str, name: str, nodes: int) -> Mapping[str, Any]:
    """The options of the module ``kubernetes_manifests``."""
    job = {
        "command": ["/srv/train.py", "--max-steps", "1000"],
        "environment": {"NCCL_DEBUG": "INFO"},
        "environment_files": [],
        "processes_per_node": 8,
        "rendezvous_port": 29500,
        "working_directory": "",
        "checkpoint_directory": "/checkpoints",
        "stop_timeout": 60,
        "global_batch_size": 0,
        "device": "hpu",
        "venv": "/opt/gaudi3_scale/venv",
    }
    return {
        "name": name,
        "job": job,
        "max_restarts": 3,
        "only_on_hosts": {},
        "flags": {"network": "gaudi_ethernet"},
        "release": "1.24.1",
        "release_overrides": {},
        "cards_per_node": 8,
        "kind": kind,
        "version": "",
        "image": f"registry.example.org/train@sha256:{'0' * 64}",
        "nodes": nodes,
        "namespace": "",
        "cards_from": "device_plugin",
        "resources": {"cpu": 128, "memory": "690Gi", "hugepages-2Mi": "42000Mi"},
        "volumes": [{"claim": "checkpoints", "path": "/checkpoints", "read_only": False}],
        "secrets": [],
        "tolerations": [],
        "queue": "",
        "security_context": {},
    }


def median(work: Callable[[], object], rounds: int) -> float:
    """The median seconds of ``work``."""
    times = []
    for _round in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


if __name__ == "__main__":
    raise SystemExit(main())
