# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Addresses and networks as an operator writes them: read, checked, and each said once."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Union

from .._errors import GaudiError

Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]
_SHOWN = 60


def parse_networks(option: str, given: Iterable[object]) -> tuple[str, ...]:
    """Each of ``given`` as ``10.0.0.7`` or ``10.0.0.0/24``, once, in the order of the addresses, version 4 first.

    Raises GaudiError naming ``option`` for what is neither, and for a network of all addresses.
    """
    networks = {_parse(option, one) for one in given}
    ordered = sorted(networks, key=lambda network: (network.version, int(network.network_address), network.prefixlen))
    return tuple(map(_plain, ordered))


def of_version(networks: Iterable[str], version: int) -> list[str]:
    """Those of :func:`parse_networks` that are of IP ``version`` 4 or 6."""
    return [network for network in networks if ipaddress.ip_network(network).version == version]


def _parse(option: str, given: object) -> Network:
    if not isinstance(given, str):
        raise GaudiError(f"{option}: {_shown(given)} is not an address; write for example '10.0.0.7' or '10.0.0.0/24'.")
    try:
        network = ipaddress.ip_network(given)
    except ValueError:
        raise GaudiError(f"{option}: {_shown(given)} is {_wrong(given)}") from None
    # A zone is of this node alone, and systemd and nftables know none.
    if "%" in given:
        raise GaudiError(f"{option}: {_shown(given)} names an interface of one node; write the address alone.")
    if network.prefixlen == 0:
        raise GaudiError(f"{option}: {_shown(given)} covers every address; name the cluster's networks.")
    if network.is_multicast or network.is_unspecified:
        raise GaudiError(
            f"{option}: {_shown(given)} cannot be the address of a node; name the addresses that nodes have."
        )
    return network


def _wrong(given: str) -> str:
    try:
        network = ipaddress.ip_network(given, strict=False)
    except ValueError:
        return "neither an address nor a network; write for example 10.0.0.7 or 10.0.0.0/24."
    return f"an address within a network; write {network} for the network, or the address without /{network.prefixlen}."


def _plain(network: Network) -> str:
    return str(network.network_address if network.prefixlen == network.max_prefixlen else network)


def _shown(given: object) -> str:
    text = repr(given)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
