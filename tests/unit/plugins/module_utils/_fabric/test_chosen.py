# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What other layers know of the network, in a run without the fabric layer."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.chosen import KEPT, ChosenNetwork, chosen_network
from ansible_collections.gaudi3.scale.tests.unit.plugins.module_utils._fabric.test_state import MELLANOX, Node


def asked(node: Node, provider: str = "auto", interface: str = "auto") -> ChosenNetwork:
    return chosen_network(node.run, str(node.kernel), provider, interface, str(node.root))


@pytest.fixture
def node(tmp_path: Path) -> Node:
    node = Node(tmp_path)
    node.rdma("mlx5_0", "0000:5a:00.0", "InfiniBand", "4: ACTIVE", **MELLANOX)
    return node


def test_what_the_fabric_layer_chose_is_known_afterwards_also_where_a_cable_was_pulled_since(node: Node) -> None:
    node.load()
    fabric = node.converge(interface="ens1")["fabric"]
    assert (fabric["provider"], fabric["interface"]) == ("gaudi_ethernet", "ens1")
    for port in node.kernel.glob("sys/class/net/ens[01]d*"):
        (port / "operstate").write_text("down\n")
    node.run.calls.clear()
    assert asked(node) == ChosenNetwork("gaudi_ethernet", "ens1")
    assert node.run.calls == []
    assert node.converge()["fabric"]["provider"] == asked(node).provider == "infiniband"


@pytest.mark.parametrize("provider", ["infiniband", "roce", "efa", "ethernet"])
def test_what_was_asked_for_once_is_known_afterwards(node: Node, provider: str) -> None:
    node.converge(provider=provider, interface="bond0")
    assert asked(node) == ChosenNetwork(provider, "bond0")


def test_the_record_is_no_change_and_check_mode_writes_none(node: Node) -> None:
    node.converge(check_mode=True)
    assert not (node.root / KEPT).exists()
    node.converge()
    (node.root / KEPT).unlink()
    assert not node.converge()["changed"]
    assert (node.root / KEPT).exists()


def test_an_operator_s_word_wins_over_the_record(node: Node) -> None:
    node.converge()
    assert asked(node, "roce", "ens9") == ChosenNetwork("roce", "ens9")
    assert asked(node, "roce") == ChosenNetwork("roce", "ens1")
    assert asked(node, interface="") == ChosenNetwork("gaudi_ethernet", "")


@pytest.mark.parametrize(
    "kept",
    [
        "",
        "[]",
        '{"provider": "myrinet", "interface": "ens1"}',
        '{"provider": ["roce"], "interface": "ens1"}',
        '{"provider": "roce", "interface": "ens1; reboot"}',
        '{"provider": "roce", "interface": null}',
    ],
)
def test_where_nothing_of_use_is_kept_the_node_is_looked_at_as_the_fabric_layer_does(node: Node, kept: str) -> None:
    (node.root / KEPT).parent.mkdir(parents=True)
    (node.root / KEPT).write_text(kept)
    assert asked(node) == ChosenNetwork("gaudi_ethernet", "ens1")
    (node.root / KEPT).unlink()
    assert asked(node) == ChosenNetwork("gaudi_ethernet", "ens1")


def test_a_network_that_is_none_is_refused(node: Node) -> None:
    with pytest.raises(GaudiError, match="provider='myrinet' is not known"):
        asked(node, "myrinet")
