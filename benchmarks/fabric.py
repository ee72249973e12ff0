# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How long `fabric.yml` takes on virgin nodes for each network, and what its second run costs.

    .venv/bin/python -m benchmarks.fabric --nodes 2

Makes a sandbox of its own and removes it again. Before each network the nodes are virgin, and for the cards' own ports
they have the driver, which is not counted. The sandbox has no network card but Ethernet: InfiniBand and RoCE are what
sysfs shows, with the distribution's packages, and EFA is a stand-in of Amazon's installer whose payload is the
distribution's libfabric. A libfabric built from sources takes minutes more, once (`make test-long`).
Seconds compare only within one run.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.playbook_run import SANDBOX, run, sandbox, total
from sandbox.cluster import load
from sandbox.efa_installer import build
from sandbox.fabric import ensure_fabric, remove_fabric

EFA_VERSION = "1.34.0"


def main() -> int:
    """Measure each network in turn; returns how many runs failed."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--nodes", type=int, default=2, metavar="N", help="nodes at the same time")
    nodes = options.parse_args().nodes
    sandbox("up", "--nodes", str(nodes))
    failed = 0
    try:
        with tempfile.TemporaryDirectory() as directory:
            print(f"{'network':22} {'first run':>10} {'a node':>8} {'second':>8} {'modules on a node':>18}")
            for label, about in networks(Path(directory), nodes).items():
                failed += measure(label, about, nodes)
    finally:
        sandbox("down")
    return failed


def networks(directory: Path, nodes: int) -> dict[str, dict[str, Any]]:
    """The variables of each network's run, and ``fault`` and ``cables`` for what makes it be there."""
    archive = build(EFA_VERSION, directory)
    hosts = [f"node{number}" for number in range(1, nodes + 1)]
    return {
        "ethernet": {"gaudi_fabric_provider": "ethernet"},
        "gaudi_ethernet": {"gaudi_fabric_provider": "gaudi_ethernet"},
        "gaudi_ethernet, layer 3": {
            "gaudi_fabric_provider": "gaudi_ethernet",
            "gaudi_fabric_layer": 3,
            "gaudi_fabric_pools": ["10.200.0.0/16"],
            "gaudi_fabric_hosts": hosts,
        },
        "infiniband": {"gaudi_fabric_provider": "infiniband"},
        "roce": {"gaudi_fabric_provider": "roce"},
        "efa": {
            "gaudi_fabric_provider": "efa",
            "gaudi_fabric_force": True,
            "gaudi_fabric_efa_version": EFA_VERSION,
            "gaudi_fabric_efa_archive": str(archive),
            "gaudi_fabric_efa_checksum": f"sha256:{hashlib.sha256(archive.read_bytes()).hexdigest()}",
            "gaudi_fabric_efa_installer_options": ["--skip-kmod"],
        },
    }


def measure(label: str, variables: Mapping[str, Any], nodes: int) -> int:
    """One line; 1 where a run failed."""
    sandbox("reset")
    cluster = load(SANDBOX)
    provider = variables["gaudi_fabric_provider"]
    if provider == "gaudi_ethernet":
        run("driver")
    if provider in ("infiniband", "roce"):
        for node in cluster.nodes:
            sandbox("fault", node.name, f"host_nic={provider}")
    if "gaudi_fabric_layer" in variables:
        ensure_fabric(cluster)
    try:
        first, second = (run("fabric", **variables) for _run in range(2))
    finally:
        remove_fabric(cluster)
    before, after = total(first[1]), total(second[1])
    each = before.seconds / nodes
    print(f"{label:22} {before.seconds:10.1f} {each:8.1f} {after.seconds:8.1f} {after.remote_per_host:18}")
    return int("failed" in (first[0], second[0]))


if __name__ == "__main__":
    sys.exit(main())
