# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The addresses of all external ports of a cluster: a /30 for each port and the switch's port at its other end. Pure.

A /30 has two usable addresses: the switch has the highest, the card's port the other (the vendor's network operator
reads them so). The list of hosts decides, in its order: a host that is added at its end renumbers nobody.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..._cards.hardware import Board, external_ports
from ..._errors import GaudiError

POOLS, HOSTS = "gaudi_fabric_pools", "gaudi_fabric_hosts"
# Every server with these cards has places for so many, and the module ids are 0 to 7 (HLS-2, HLS-3, and PCIe servers).
CARDS = 8
PREFIX = 30
_ADDRESSES = 1 << (32 - PREFIX)
_SHOWN = 60
# What Ansible takes for a host's name, and no word of a command is in.
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,252}", re.ASCII)


class Slot(NamedTuple):
    """The place of an external port in a server: its card's module id and its number."""

    module_id: int
    port: int


class PortAddress(NamedTuple):
    """The addresses at both ends of a port's cable; ``switch`` is the gateway."""

    module_id: int
    port: int
    address: str
    switch: str
    prefix: int = PREFIX

    @property
    def slot(self) -> Slot:
        """Which port it is."""
        return Slot(self.module_id, self.port)

    @property
    def announced(self) -> str:
        """What the switch's port has, and announces as its description."""
        return f"{self.switch}/{self.prefix}"


@dataclass(frozen=True)
class AddressPlan:
    """Made by :func:`make_plan`. ``pools`` are (first address, number of /30) as numbers."""

    hosts: tuple[str, ...]
    slots: tuple[Slot, ...]
    pools: tuple[tuple[int, int], ...]

    def of(self, host: str) -> tuple[PortAddress, ...]:
        """The ports of one host, by module id and port number. Raises GaudiError for a host that has none."""
        if host not in self.hosts:
            raise GaudiError(f"{HOSTS} does not name {_shown(host)}; add it at the end, so that no host is renumbered.")
        return self._of(self.hosts.index(host))

    def all(self) -> dict[str, tuple[PortAddress, ...]]:
        """The ports of every host."""
        return {host: self._of(number) for number, host in enumerate(self.hosts)}

    def _of(self, host: int) -> tuple[PortAddress, ...]:
        found = []
        for number, slot in enumerate(self.slots):
            pool, place = _place(host, number, len(self.pools), len(self.slots))
            first = self.pools[pool][0] + place * _ADDRESSES
            found.append(PortAddress(*slot, _text(first + 1), _text(first + 2)))
        return tuple(found)


def slots_of(board: Board) -> tuple[Slot, ...]:
    """The external ports of a server full of these cards, by module id and port number."""
    return tuple(Slot(card, port) for card in range(CARDS) for port in external_ports(board.pci_id, card))


def make_plan(hosts: Sequence[str], slots: Sequence[Slot], pools: Sequence[object]) -> AddressPlan:
    """The plan for ``hosts``, each with ``slots``; raises GaudiError, with the remedy, for what makes none.

    ``pools`` are one network for all ports, or one a rail: one for each port of a card, one for each card, or one for
    each port of a server.
    """
    check_hosts(hosts)
    if not hosts:
        raise GaudiError(f"{HOSTS} is empty; name all hosts of the fabric, in an order that stays.")
    twice = [host for host, count in Counter(hosts).items() if count > 1]
    if twice:
        raise GaudiError(f"{HOSTS} names {_shown(twice[0])} twice; name each host once.")
    networks = _networks(pools)
    ports_of_card = len(slots) // CARDS
    counts = sorted({1, ports_of_card, CARDS, len(slots)} - {0})
    if len(networks) not in counts:
        wanted = f"{', '.join(map(str, counts[:-1]))} or {counts[-1]}"
        raise GaudiError(
            f"{POOLS} has {len(networks)} networks; give {wanted}: one for all, one for each port of a card, one for "
            "each card, or one for each port of a server."
        )
    needed = len(hosts) * len(slots) // len(networks)
    for network in networks:
        _refuse_small(network, needed, len(hosts), len(slots) // len(networks))
    sizes = tuple((int(network.network_address), network.num_addresses // _ADDRESSES) for network in networks)
    return AddressPlan(tuple(hosts), tuple(slots), sizes)


def check_hosts(hosts: Sequence[str]) -> None:
    """Refuse what is no host's name."""
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise GaudiError(f"{HOSTS} has {_shown(host)}, which is not a host name; give names from the inventory.")


def check_pools(pools: Sequence[object]) -> None:
    """Refuse networks that cannot be pools, however many are needed."""
    _networks(pools)


def _place(host: int, number: int, pools: int, slots: int) -> tuple[int, int]:
    """The pool of a host's port, and which /30 in it."""
    ports_of_card = slots // CARDS
    card, port = divmod(number, ports_of_card)
    if pools == 1:
        return 0, host * slots + number
    if pools == slots:
        return number, host
    return (card, host * ports_of_card + port) if pools == CARDS else (port, host * CARDS + card)


def _networks(pools: Sequence[object]) -> list[ipaddress.IPv4Network]:
    if not pools:
        raise GaudiError(f"{POOLS} is empty; give the network of the cards' ports, for example 10.200.0.0/16.")
    networks = [_network(pool) for pool in pools]
    in_order = sorted(networks)
    for one, following in zip(in_order, in_order[1:]):
        if one.overlaps(following):
            raise GaudiError(f"{POOLS}: {one} and {following} overlap; give networks that do not.")
    return networks


def _network(pool: object) -> ipaddress.IPv4Network:
    try:
        network = ipaddress.ip_network(pool if isinstance(pool, str) else "", strict=False)
    except ValueError:
        sentence = f"{POOLS}: {_shown(pool)} is not a network; write for example 10.200.0.0/16."
        raise GaudiError(sentence) from None
    if isinstance(network, ipaddress.IPv6Network):
        # gaudinet.json has dotted masks, and the vendor's operator reads IPv4 alone.
        raise GaudiError(f"{POOLS}: {network} is IPv6, which gaudinet.json does not support; give an IPv4 network.")
    if ipaddress.ip_interface(str(pool)).ip != network.network_address:
        raise GaudiError(f"{POOLS}: {_shown(pool)} is an address within a network; write {network}.")
    unusable = network.is_loopback or network.is_multicast or network.is_link_local or network.is_reserved
    if unusable or network.prefixlen == 0 or network.network_address == ipaddress.IPv4Address(0):
        raise GaudiError(f"{POOLS}: {network} cannot be used for ports; give a private network, such as 10.200.0.0/16.")
    return network


def _refuse_small(network: ipaddress.IPv4Network, needed: int, hosts: int, ports: int) -> None:
    there = network.num_addresses // _ADDRESSES
    if there >= needed:
        return
    prefix = PREFIX - (needed - 1).bit_length()
    if prefix < 1:
        raise GaudiError(f"{HOSTS} names {hosts} hosts, more than IPv4 has networks for; name fewer.")
    raise GaudiError(
        f"{POOLS}: {network} has {there} networks of /{PREFIX}, and {hosts} x {ports} ports in it need {needed}; give "
        f"a /{prefix} or larger."
    )


def _text(address: int) -> str:
    return f"{address >> 24}.{address >> 16 & 255}.{address >> 8 & 255}.{address & 255}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
