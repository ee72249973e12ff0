# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The firewall of the ports of jobs, by what gets through: node2 knocks at node1, which lets in whom it is told to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import ansible_runner
import pytest
from testinfra.host import Host

from tests.sandbox_nodes import hosts, run

OURS, OTHERS = 29500, 12345
KNOCK = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 2)"
LISTEN = "systemd-run --quiet --unit molecule-{port} python3 -m http.server {port}"


@pytest.fixture(scope="module")
def nodes() -> Iterator[dict[str, Host]]:
    """Each listens on a port of jobs and on one that is nobody's."""
    found = {name: host for name, host in hosts().items() if name in ("node1", "node2")}
    for host in found.values():
        for port in (OURS, OTHERS):
            host.check_output(LISTEN.format(port=port))
    yield found
    for host in found.values():
        for port in (OURS, OTHERS):
            host.run(f"systemctl stop molecule-{port}")


@pytest.fixture(scope="module")
def addresses(nodes: dict[str, Host]) -> dict[str, str]:
    return {name: host.check_output("hostname -I").split()[0] for name, host in nodes.items()}


def converge(directory: Path, **options: object) -> ansible_runner.Runner:
    done = run(directory, "host", arguments="--limit node1", **{"gaudi_host_firewall": True, **options})
    assert done.status == "successful", done.stdout.read()[-4000:]
    return done


@pytest.fixture(scope="module", autouse=True)
def without_firewall_afterwards(nodes: dict[str, Host], tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    yield
    converge(tmp_path_factory.mktemp("off"), gaudi_host_firewall=False)
    assert "gaudi3_scale" not in nodes["node1"].check_output("nft list tables")
    assert not nodes["node1"].file("/etc/gaudi3_scale/firewall.nft").exists
    assert not nodes["node1"].file("/etc/systemd/system/gaudi3-scale-firewall.service").exists


def is_open(knocker: Host, address: str, port: int) -> bool:
    return knocker.run(f"python3 -c '{KNOCK}' {address} {port}").rc == 0


def test_a_node_of_the_group_comes_in_though_the_run_is_limited(
    nodes: dict[str, Host], addresses: dict[str, str], tmp_path: Path
) -> None:
    assert is_open(nodes["node2"], addresses["node1"], OURS)
    converge(tmp_path)
    assert is_open(nodes["node2"], addresses["node1"], OURS)


def test_who_is_not_named_is_kept_from_the_ports_of_jobs_alone(
    nodes: dict[str, Host], addresses: dict[str, str], tmp_path: Path
) -> None:
    converge(tmp_path, gaudi_host_firewall_nodes=[addresses["node1"]])
    assert not is_open(nodes["node2"], addresses["node1"], OURS)
    assert is_open(nodes["node2"], addresses["node1"], OTHERS)
    assert is_open(nodes["node1"], addresses["node1"], OURS)
    assert is_open(nodes["node1"], "127.0.0.1", OURS)


def test_a_second_run_changes_nothing(addresses: dict[str, str], tmp_path: Path) -> None:
    assert not converge(tmp_path, gaudi_host_firewall_nodes=[addresses["node1"]]).stats["changed"]


def test_rules_that_were_flushed_by_hand_come_back(
    nodes: dict[str, Host], addresses: dict[str, str], tmp_path: Path
) -> None:
    nodes["node1"].check_output("nft flush ruleset")
    assert is_open(nodes["node2"], addresses["node1"], OURS)
    converge(tmp_path, gaudi_host_firewall_nodes=[addresses["node1"]])
    assert not is_open(nodes["node2"], addresses["node1"], OURS)


def test_answers_to_the_nodes_own_questions_come_back_through_a_closed_range(
    nodes: dict[str, Host], addresses: dict[str, str], tmp_path: Path
) -> None:
    """They come to ports that the kernel chose, as those of gloo and HCCL are."""
    converge(tmp_path, gaudi_host_firewall_nodes=[addresses["node1"]], gaudi_host_firewall_ports=["1024-65535"])
    assert is_open(nodes["node1"], addresses["node2"], OTHERS)
    assert not is_open(nodes["node2"], addresses["node1"], OTHERS)


def test_systemd_understands_the_unit(nodes: dict[str, Host]) -> None:
    assert nodes["node1"].run("systemd-analyze verify /etc/systemd/system/gaudi3-scale-firewall.service").rc == 0
