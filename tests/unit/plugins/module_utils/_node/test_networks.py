# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Addresses and networks as operators write them, and as nobody should."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.networks import of_version, parse_networks
from ansible_collections.gaudi3.scale.plugins.module_utils._node.unit_hardening import address_lines


def test_each_is_said_once_in_the_order_of_addresses() -> None:
    given = ["fd00::1", "10.0.0.10", "10.0.0.9", "10.0.0.9/32", "10.1.0.0/16", "fd00::/64", "fd00:0::1"]
    assert parse_networks("x", given) == ("10.0.0.9", "10.0.0.10", "10.1.0.0/16", "fd00::/64", "fd00::1")


def test_versions_are_told_apart() -> None:
    networks = parse_networks("x", ["10.0.0.9", "fd00::/64"])
    assert (of_version(networks, 4), of_version(networks, 6)) == (["10.0.0.9"], ["fd00::/64"])


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ("", "write for example 10.0.0.7"),
        (" ", "write for example 10.0.0.7"),
        ("10.0.0.7\n", "write for example 10.0.0.7"),
        ("10.0.0.7; drop", "write for example 10.0.0.7"),
        ("10.0.0.7 }", "write for example 10.0.0.7"),
        ("gaudi-01", "write for example 10.0.0.7"),
        ("10.0.0.256", "write for example 10.0.0.7"),
        ("10.0.0.7/33", "write for example 10.0.0.7"),
        ("10.0.0.007", "write for example 10.0.0.7"),
        ("٣.0.0.1", "write for example 10.0.0.7"),
        ("1" * 100_000, "write for example 10.0.0.7"),
        ("10.0.0.7/24", "write 10.0.0.0/24 for the network, or the address without /24"),
        ("0.0.0.0/0", "name the cluster's networks"),
        ("::/0", "name the cluster's networks"),
        ("0.0.0.0", "name the addresses that nodes have"),
        ("224.0.0.1", "name the addresses that nodes have"),
        ("fe80::1%eth0", "write the address alone"),
        (167772167, "write for example '10.0.0.7'"),
        (None, "write for example '10.0.0.7'"),
        (["10.0.0.7"], "write for example '10.0.0.7'"),
    ],
)
def test_what_is_neither_is_refused_in_one_sentence(given: object, remedy: str) -> None:
    with pytest.raises(GaudiError) as caught:
        parse_networks("allowed_networks", [given])
    said = str(caught.value)
    assert said.startswith("allowed_networks: ")
    assert remedy in said
    assert len(said) < 250
    assert said.isprintable()


def test_a_unit_speaks_with_the_named_networks_and_itself_alone() -> None:
    assert address_lines(parse_networks("x", ["10.0.0.0/24", "fd00::7"])) == [
        "IPAddressDeny=any",
        "IPAddressAllow=localhost",
        "IPAddressAllow=10.0.0.0/24 fd00::7",
    ]


def test_without_networks_a_unit_has_no_limit() -> None:
    assert address_lines(()) == []
