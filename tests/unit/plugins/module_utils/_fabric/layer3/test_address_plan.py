# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Addresses from a list of hosts and pools: which port has which, and what makes no plan."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import board_of
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.layer3.address_plan import (
    PortAddress,
    Slot,
    make_plan,
    slots_of,
)


def slots(pci_id: str = "0x1060") -> tuple[Slot, ...]:
    board = board_of(pci_id)
    assert board
    return slots_of(board)


def test_the_ports_of_a_server_are_those_of_its_generation() -> None:
    gaudi3 = [(0, 17), (0, 20), (0, 21), (1, 5), (1, 8), (1, 9)]
    assert list(slots())[:6] == gaudi3
    assert list(slots("0x1020"))[:4] == [(0, 8), (0, 22), (0, 23), (1, 8)]
    assert [len(slots(one)) for one in ("0x1060", "0x1020", "0x1063", "0x1021")] == [24, 24, 32, 0]


def test_one_pool_is_dealt_host_by_host() -> None:
    plan = make_plan(["n1", "n2"], slots(), ["10.200.0.0/16"])
    first, second = plan.of("n1"), plan.of("n2")
    assert first[0] == PortAddress(0, 17, "10.200.0.1", "10.200.0.2", 30)
    assert first[23] == PortAddress(7, 19, "10.200.0.93", "10.200.0.94", 30)
    assert second[0].announced == "10.200.0.98/30"
    assert plan.all() == {"n1": first, "n2": second}


@pytest.mark.parametrize(
    ("pools", "port", "address"),
    [
        # One for each port of a card: rail 1 is the second of each; eight /30 a host.
        (["10.1.0.0/24", "10.2.0.0/24", "10.3.0.0/24"], Slot(0, 20), "10.2.0.33"),
        (["10.1.0.0/24", "10.2.0.0/24", "10.3.0.0/24"], Slot(1, 9), "10.3.0.37"),
        # One for each card: three /30 a host.
        ([f"10.{card}.0.0/24" for card in range(1, 9)], Slot(7, 19), "10.8.0.21"),
        # One for each port of a server.
        ([f"10.{rail}.0.0/24" for rail in range(1, 25)], Slot(7, 19), "10.24.0.5"),
    ],
)
def test_pools_of_rails(pools: Sequence[str], port: Slot, address: str) -> None:
    found = {one.slot: one.address for one in make_plan(["n1", "n2"], slots(), pools).of("n2")}
    assert found[port] == address


@pytest.mark.parametrize("pools", [1, 3, 8, 24])
def test_no_two_ports_meet_and_each_lies_in_its_pool_with_its_switch(pools: int) -> None:
    networks = [f"10.{number}.0.0/18" for number in range(1, pools + 1)]
    plan = make_plan([f"n{number}" for number in range(40)], slots(), networks)
    ports = [one for host in plan.all().values() for one in host]
    subnets = [ipaddress.ip_interface(f"{one.address}/{one.prefix}").network for one in ports]
    assert len(set(subnets)) == len(ports) == 40 * 24
    for one, subnet in zip(ports, subnets):
        usable = list(subnet.hosts())
        assert [one.address, one.switch] == list(map(str, usable))
        assert any(subnet.subnet_of(ipaddress.ip_network(network)) for network in networks)  # type: ignore[type-var]


@pytest.mark.parametrize("pools", [1, 3, 8, 24])
def test_a_host_at_the_end_renumbers_nobody(pools: int) -> None:
    networks = [f"10.{number}.0.0/16" for number in range(1, pools + 1)]
    hosts = [f"n{number}" for number in range(20)]
    before = make_plan(hosts, slots(), networks).all()
    after = make_plan([*hosts, "n20"], slots(), networks).all()
    assert {host: after[host] for host in hosts} == before


@pytest.mark.parametrize(
    ("hosts", "pools", "sentence"),
    [
        ([], ["10.0.0.0/16"], "gaudi_fabric_hosts is empty; name all hosts of the fabric, in an order that stays."),
        (["a", "b", "a"], ["10.0.0.0/16"], "gaudi_fabric_hosts names 'a' twice; name each host once."),
        (["a"], [], "gaudi_fabric_pools is empty; give the network of the cards' ports, for example 10.200.0.0/16."),
        (["a"], ["tenant"], "gaudi_fabric_pools: 'tenant' is not a network; write for example 10.200.0.0/16."),
        (["a"], [7], "gaudi_fabric_pools: 7 is not a network; write for example 10.200.0.0/16."),
        (["a"], ["10.0.0.7/16"], "'10.0.0.7/16' is an address within a network; write 10.0.0.0/16."),
        (["a"], ["fd00::/64"], "fd00::/64 is IPv6, which gaudinet.json does not support; give an IPv4 network."),
        (
            ["a"],
            ["224.0.0.0/8"],
            "224.0.0.0/8 cannot be used for ports; give a private network, such as 10.200.0.0/16.",
        ),
        (["a"], ["0.0.0.0/0"], "0.0.0.0/0 cannot be used for ports"),
        (["a"], ["10.0.0.0/16", "10.1.0.0/16"], "has 2 networks; give 1, 3, 8 or 24: one for all, one for each port"),
        (
            ["a"],
            ["10.3.0.0/24", "10.1.0.0/16", "10.1.4.0/24"],
            "10.1.0.0/16 and 10.1.4.0/24 overlap; give networks that do not.",
        ),
        (
            ["a", "b", "c"],
            ["10.0.0.0/24"],
            "10.0.0.0/24 has 64 networks of /30, and 3 x 24 ports in it need 72; give a /23 or larger.",
        ),
        (["a"], ["10.0.0.0/32"], "10.0.0.0/32 has 0 networks of /30, and 1 x 24 ports in it need 24"),
    ],
)
def test_what_makes_no_plan(hosts: Sequence[str], pools: Sequence[object], sentence: str) -> None:
    with pytest.raises(GaudiError) as refused:
        make_plan(hosts, slots(), pools)
    assert sentence in str(refused.value)


def test_a_host_that_is_not_named_has_no_addresses() -> None:
    with pytest.raises(GaudiError, match=r"gaudi_fabric_hosts does not name 'n9'; add it at the end"):
        make_plan(["n1"], slots(), ["10.200.0.0/16"]).of("n9")
