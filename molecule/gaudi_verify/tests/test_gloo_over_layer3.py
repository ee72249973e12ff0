# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Real ranks over the addresses that were planned for the cards' ports: gloo's sockets, through the switch that routes.

Cards send by RDMA from the address of a port and need no route. A socket asks the main table for one, which no node of
a fabric has; so it is set here, as somebody would who wants to try a link with a program of his own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from testinfra.host import Host

from sandbox.cluster import load
from sandbox.fabric import Cable, ensure_fabric
from tests.sandbox_nodes import SANDBOX, bytes_sent, hosts, run, sandbox

# The fabric's own tests set layer 3 up, too; here it costs half a minute of packages for one more question.
pytestmark = pytest.mark.long
POOL = "10.200.0.0/16"
LAYER3 = {
    "gaudi_fabric_layer": 3,
    "gaudi_fabric_pools": [POOL],
    "gaudi_fabric_hosts": ["node1", "node2"],
    "gaudi_fabric_benchmark": False,
}
SIZE = 4 << 20


@pytest.fixture
def nodes() -> dict[str, Host]:
    return hosts()


@pytest.fixture
def first(nodes: dict[str, Host], tmp_path: Path) -> Iterator[dict[str, Cable]]:
    """The first cable of each node, by which the whole pool can be reached."""
    cables = ensure_fabric(load(SANDBOX))
    done = run(tmp_path, "fabric", **LAYER3)
    assert done.status == "successful", done.stdout.read()[-4000:]
    found = {name: next(one for one in cables if one.node == name) for name in nodes}
    for name, one in found.items():
        nodes[name].check_output(f"ip route replace {POOL} via {one.gateway} dev {one.interface}")
    yield found
    done = run(tmp_path, "fabric", **{**LAYER3, "gaudi_fabric_layer": 2})
    sandbox("fabric", "--remove")
    assert done.status == "successful", done.stdout.read()[-4000:]


def test_an_all_reduce_goes_over_the_planned_addresses(
    nodes: dict[str, Host], first: dict[str, Cable], tmp_path: Path
) -> None:
    (interface,) = {one.interface for one in first.values()}
    before = {name: bytes_sent(node)[interface] for name, node in nodes.items()}
    done = run(
        tmp_path,
        "launch_training",
        gaudi_training_name="over-layer3",
        gaudi_training_hosts=list(nodes),
        gaudi_training_processes_per_node=1,
        gaudi_training_command=[
            *("-m", "gaudi3_scale.collectives", "--device", "cpu"),
            *("--collectives", "all_reduce", "--bytes", str(SIZE)),
        ],
        gaudi_training_environment={"GLOO_SOCKET_IFNAME": interface},
        gaudi_training_follow_interval=1,
        gaudi_report_target=str(tmp_path),
    )
    assert done.status == "successful", done.stdout.read()[-4000:]
    # A ring of two: each sends half of the buffer twice, in each of the calls.
    for name, node in nodes.items():
        assert bytes_sent(node)[interface] - before[name] > SIZE
