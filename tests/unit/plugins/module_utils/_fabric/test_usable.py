# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Over which networks a node could be measured, as the cards' library and sockets would find them."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.sysfs import CardPort, HostNic, Network
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.usable import Sight, Usable, usable_networks

PORT = CardPort("e0d17", "0000:19:00.0", 17, True, True)
DARK = CardPort("e0d20", "0000:19:00.0", 20, True, False)
ROCE = HostNic("mlx5_0", "roce", True, ("rail0",))
EFA = HostNic("rdmap0", "efa", True, ())


def networks(device: str = "hpu", *, ports: tuple[CardPort, ...] = (PORT,), **more: Any) -> dict[str, Usable]:
    network = Network(more.pop("generation", "gaudi3"), 24, ports, tuple(more.pop("nics", ())))
    sight = Sight(network, more.pop("addresses", {}), more.pop("wrapper", True), more.pop("management", "eno1"))
    assert not more
    return {one.provider: one for one in usable_networks(sight, device)}


def usable(found: dict[str, Usable]) -> list[str]:
    return [name for name, one in found.items() if one.usable]


def test_cards_use_their_ports_and_the_host_s_cards_through_the_wrapper() -> None:
    assert usable(networks(nics=[ROCE])) == ["gaudi_ethernet", "roce"]
    assert usable(networks(nics=[ROCE], wrapper=False)) == ["gaudi_ethernet"]
    assert usable(networks(ports=(DARK,))) == ["ethernet"]


def test_plain_tcp_is_taken_only_where_the_library_finds_no_verbs() -> None:
    assert usable(networks()) == ["gaudi_ethernet", "ethernet"]
    assert networks(nics=[ROCE])["ethernet"].reason == "HCCL takes mlx5_0 before it"


def test_efa_is_for_the_generation_of_which_it_is_known() -> None:
    assert "efa" not in usable(networks(nics=[EFA]))
    assert "efa" in usable(networks(nics=[EFA], generation="gaudi"))


def test_without_cards_sockets_speak_over_interfaces_that_have_an_address() -> None:
    found = networks("cpu", nics=[ROCE], addresses={"rail0": ["192.0.2.1/30"]})
    assert {name: one.interface for name, one in found.items() if one.usable} == {"roce": "rail0", "ethernet": "eno1"}
    assert found["gaudi_ethernet"].reason == "only cards send over it"
    assert networks("cpu", nics=[ROCE])["roce"].reason == "no interface of mlx5_0 has an address"


@pytest.mark.parametrize("device", ["hpu", "cpu"])
def test_a_node_without_a_network_says_why_for_each(device: str) -> None:
    found = networks(device, ports=(), management=None)
    assert usable(found) == []
    assert all(one.reason for one in found.values())
