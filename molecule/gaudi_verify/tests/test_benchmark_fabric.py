# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The measured choice of the network, between real ranks over two real links of which one is slowed down.

The second link stands in the place of a RoCE card's interface: a veth pair between the nodes, under the name that the
simulated card has. What the ranks send over it is TCP.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from sandbox.podman import podman
from sandbox.simulator.host_nics import INTERFACE as RAIL
from tests.sandbox_nodes import SANDBOX, bytes_sent, hosts, run, sandbox

NODES = ("node1", "node2")
SIZES = [65536, 1 << 20, 1 << 22]
JOBS = "ls -d /var/log/gaudi3_scale/jobs/fabric-*/metrics.jsonl | xargs stat -c '%n %Y'"
KEPT = "/var/lib/gaudi3_scale/fabric_benchmark.json"


@pytest.fixture(scope="module")
def nodes() -> dict[str, Host]:
    return hosts()


@pytest.fixture(scope="module")
def rail(nodes: dict[str, Host]) -> Iterator[None]:
    """A link between the two nodes beside their network, and cards in sysfs whose interface it is."""
    one, other = (podman("inspect", "--format", "{{.State.Pid}}", f"{SANDBOX}-{node}").strip() for node in NODES)
    veth = f"ip link add {RAIL} netns {one} type veth peer name {RAIL} netns {other}"
    subprocess.run(veth.split(), check=True)
    for number, node in enumerate(NODES, start=1):
        nodes[node].check_output(f"ip address add 198.51.100.{number}/30 dev {RAIL} && ip link set {RAIL} up")
        sandbox("fault", node, "host_nic=roce")
    yield
    for node in NODES:
        sandbox("fault", node, "clear")
    nodes[NODES[0]].check_output(f"ip link delete {RAIL}")
    for node in NODES:
        nodes[node].check_output(f"rm -f {KEPT}")


def slow_down(nodes: dict[str, Host], interface: str) -> None:
    """So much of a network that the other one is faster by far."""
    for node in NODES:
        nodes[node].check_output(f"tc qdisc replace dev {interface} root tbf rate 200mbit burst 128kb latency 50ms")


def speed_up(nodes: dict[str, Host], interface: str) -> None:
    for node in NODES:
        nodes[node].check_output(f"tc qdisc delete dev {interface} root")


def measured(directory: Path, **variables: object) -> dict[str, Any]:
    """What the report keeps of each node."""
    about = {"gaudi_fabric_benchmark_sizes": SIZES, "gaudi_report_target": str(directory), **variables}
    done = run(directory, "benchmark_fabric", **about)
    assert done.status == "successful", done.stdout.read()[-4000:]
    assert set(done.stats["changed"]) == set()
    found: dict[str, Any] = json.loads((directory / "benchmark_fabric.json").read_text())["data"]
    return found


def figures(verdict: dict[str, Any]) -> dict[str, float]:
    return {row["provider"]: row["sizes"][-1]["busbw_gb_per_s"] for row in verdict["rows"]}


@pytest.mark.usefixtures("rail")
def test_both_networks_are_measured_once_and_the_chosen_one_is_the_faster(
    nodes: dict[str, Host], tmp_path: Path
) -> None:
    slow_down(nodes, "eth0")
    before = bytes_sent(nodes["node1"])[RAIL]
    try:
        found = measured(tmp_path, gaudi_fabric_provider="roce")
    finally:
        speed_up(nodes, "eth0")
    assert {node: (one["state"], one["partner"]) for node, one in found.items()} == {
        "node1": ("ok", "node2"),
        "node2": ("ok", "node1"),
    }
    speeds = figures(found["node1"])
    # What passes a bucket of 200 Mbit/s is 0.025 GB/s and its burst.
    assert speeds["roce"] > 2 * speeds["ethernet"]
    assert [size["bytes"] for size in found["node1"]["rows"][0]["sizes"]] == SIZES
    assert bytes_sent(nodes["node1"])[RAIL] - before > max(SIZES)
    assert (tmp_path / "benchmark_fabric.html").is_file()
    # A second run asks each node once, and starts nothing.
    begun = nodes["node1"].check_output(JOBS)
    again = measured(tmp_path, gaudi_fabric_provider="roce")
    assert {one["cached"] for one in again.values()} == {True}
    assert figures(again["node2"]) == speeds
    assert nodes["node1"].check_output(JOBS) == begun


@pytest.mark.long
@pytest.mark.usefixtures("rail")
def test_a_choice_that_is_the_slower_one_is_told_with_what_to_set(nodes: dict[str, Host], tmp_path: Path) -> None:
    slow_down(nodes, RAIL)
    try:
        found = measured(tmp_path, gaudi_fabric_provider="roce", gaudi_fabric_benchmark_again=True)
    finally:
        speed_up(nodes, RAIL)
    assert {one["state"] for one in found.values()} == {"slower"}
    assert "set gaudi_fabric_provider: ethernet" in found["node1"]["reason"]


@pytest.mark.usefixtures("rail")
def test_nodes_of_two_networks_are_refused_by_name(tmp_path: Path) -> None:
    """Found by themselves: one has no Gaudi any more, and is left with its RoCE card."""
    sandbox("fault", "node2", "no_cards")
    try:
        done = run(tmp_path, "benchmark_fabric", gaudi_report_target=str(tmp_path))
    finally:
        sandbox("fault", "node2", "clear")
        sandbox("fault", "node2", "host_nic=roce")
    said = done.stdout.read()
    assert done.status == "failed"
    assert "node2: its network is roce" in said
    assert "and not all have the same one: gaudi_ethernet on node1; roce on node2" in said
