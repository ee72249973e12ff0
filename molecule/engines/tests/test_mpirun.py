# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs through a real mpirun over three nodes: order, a stop, a rank killed, a node cut off, a node that is closed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from testinfra.host import Host

from sandbox import cluster as sandboxes
from sandbox.nodes import in_node
from tests.sandbox_nodes import SANDBOX, Played

from .jobs import IN_ORDER, KILL, assert_bound, reported, wait_for_ranks

Launch = Callable[..., Played]


def test_ranks_are_in_the_order_of_the_hosts_and_a_stop_tells_them(
    nodes: dict[str, Host], launch: Launch, stop: Callable[..., Played]
) -> None:
    bound = {"gaudi_training_bind": "numa", "gaudi_training_follow": False}
    assert launch("stopped", "mpirun", **bound).status == "successful"
    wait_for_ranks(nodes, "stopped", IN_ORDER)
    assert_bound(nodes)
    assert stop("stopped", "mpirun").status == "successful"
    assert reported(nodes, "stopped") == ["reported-0", "reported-1", "reported-2"]
    # Its ranks ended well, but it was not done.
    again = launch("stopped", "mpirun", **bound)
    assert again.changed > 0, again.screen
    wait_for_ranks(nodes, "stopped", IN_ORDER)
    assert stop("stopped", "mpirun").status == "successful"


@pytest.mark.long
def test_a_killed_rank_is_named_with_its_host(nodes: dict[str, Host], launch: Launch) -> None:
    with ThreadPoolExecutor() as pool:
        following = pool.submit(launch, "killed", "mpirun")
        wait_for_ranks(nodes, "killed", IN_ORDER)
        nodes["node1"].check_output(KILL)
        failed = following.result()
    assert "rank 1 on node1 failed first: killed by SIGKILL" in failed.messages[0]
    assert "agent.log on node3" in failed.messages[0]


@pytest.mark.long
def test_a_node_that_is_cut_off_ends_the_job_and_is_named(nodes: dict[str, Host], launch: Launch) -> None:
    node2 = sandboxes.find_node(sandboxes.load(SANDBOX), "node2")
    with ThreadPoolExecutor() as pool:
        following = pool.submit(launch, "cut", "mpirun")
        wait_for_ranks(nodes, "cut", IN_ORDER)
        in_node(node2, "ip", "link", "set", "eth0", "down")
        try:
            failed = following.result()
        finally:
            in_node(node2, "ip", "link", "set", "eth0", "up")
    assert "the agent on node2 failed first: the node, or its network, went down" in failed.messages[0]


@pytest.mark.long
def test_a_node_that_ssh_does_not_open_is_refused_before_the_start(nodes: dict[str, Host], launch: Launch) -> None:
    key = "/etc/ssh/authorized_keys.d/gaudi"
    nodes["node2"].check_output(f"mv {key} {key}.away")
    try:
        refused = launch("closed", "mpirun")
    finally:
        nodes["node2"].check_output(f"mv {key}.away {key}")
    assert refused.status == "failed"
    assert "gaudi on node3 cannot reach node2 by `ssh node2` without a password: " in refused.messages[0]
    assert "Permission denied (publickey); give gaudi a key that opens node2" in refused.messages[0]
