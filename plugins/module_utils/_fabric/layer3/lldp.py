# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What an LLDP neighbor says of itself: which switch and port it is, and the address that its description announces.

Whoever holds the other end of a cable writes these texts, so they are data: bounded, and never a path or a command.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..._errors import GaudiError
from ..._node.commands import Run, last_line
from ..._node.json_file import parse_object
from ..._node.screen_text import one_line
from .address_plan import PREFIX, PortAddress, Slot

# The standard's bound on a text of a TLV (IEEE 802.1AB), and far more neighbors than a node has ports.
LONGEST, MOST = 255, 1024
# A /31 has two addresses and both are usable (RFC 3021).
PREFIXES = (PREFIX, 31)
_TIMEOUT_S = 20.0
_ADDRESS = re.compile(r"(?<![\w.:/])(\d{1,3}(?:\.\d{1,3}){3}/\d{1,3})(?![\w./])", re.ASCII)


class Neighbor(NamedTuple):
    """What a switch says over one cable. ``switch`` is its name, or its chassis' address where it has none."""

    interface: str
    switch: str
    port: str
    description: str


class Announced(NamedTuple):
    """The switch's address at the other end, and the one that is left for this end."""

    switch: str
    address: str
    prefix: int


class WrongMaskError(ValueError):
    """What a switch announces is no end of a cable, since its network is too large or too small."""


def read_neighbors(run: Run) -> tuple[Neighbor, ...]:
    """All LLDP neighbors that lldpd knows now. Raises GaudiError where it does not answer."""
    done = run(["lldpctl", "-f", "json0"], timeout=_TIMEOUT_S)
    if done.rc == 127:
        raise GaudiError(
            "the package lldpd, which hears the switches, is not installed on this node; install it "
            "(`apt-get install lldpd`; on RHEL `dnf install lldpd`, of EPEL), or run fabric.yml with "
            "gaudi_fabric_layer: 3."
        )
    if done.rc != 0:
        why = last_line(done.stderr or done.stdout)
        raise GaudiError(f"lldpctl failed: {one_line(why, LONGEST)}; check `systemctl status lldpd`.")
    try:
        return parse_neighbors(done.stdout)
    except ValueError as error:
        raise GaudiError(f"lldpctl's output cannot be read: {error}; check lldpd's version.") from None


def parse_neighbors(text: str) -> tuple[Neighbor, ...]:
    """Of ``lldpctl -f json0``, in which every element is a list (lldpcli(8)); other protocols are left out."""
    found = []
    for part in _objects(parse_object(text), "lldp"):
        for one in _objects(part, "interface"):
            if one.get("via") == "LLDP" and isinstance(one.get("name"), str):
                found.append(_neighbor(one))
    return tuple(found[:MOST])


def _neighbor(one: dict[str, Any]) -> Neighbor:
    chassis, port = next(_objects(one, "chassis"), {}), next(_objects(one, "port"), {})
    switch = _value(chassis, "name") or _value(chassis, "id")
    return Neighbor(one_line(one["name"], LONGEST), switch, _value(port, "id"), _value(port, "descr"))


def _objects(value: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    members = value.get(name)
    return (one for one in members if isinstance(one, dict)) if isinstance(members, list) else iter(())


def _value(value: dict[str, Any], name: str) -> str:
    text = next(_objects(value, name), {}).get("value")
    return one_line(text, LONGEST).strip() if isinstance(text, str) else ""


def announced(description: str) -> Announced | None:
    """The address in a port description, as ``no-alert 10.200.10.2/30`` has it; None where it has none.

    Raises ValueError, with a clause, for one that can be no end of a cable.
    """
    texts = _ADDRESS.findall(description)
    if not texts:
        return None
    if len(texts) > 1:
        raise ValueError("announces more than one address")
    try:
        switch = ipaddress.IPv4Interface(texts[0])
    except ValueError:
        raise ValueError("announces something that is not an address") from None
    if switch.network.prefixlen not in PREFIXES:
        raise WrongMaskError(f"has the mask /{switch.network.prefixlen} where a cable has /30 or /31")
    usable = list(switch.network.hosts())
    if switch.ip not in usable:
        raise ValueError("announces the network's own address")
    (own,) = (address for address in usable if address != switch.ip)
    return Announced(str(switch.ip), str(own), switch.network.prefixlen)


def address_of(slot: Slot, interface: str, neighbor: Neighbor) -> PortAddress:
    """The addresses of a port by what its neighbor announces; GaudiError, with the port and the text, where none."""
    text = neighbor.description
    try:
        found = announced(text)
    except ValueError as error:
        raise GaudiError(f"{interface}: the switch's description {text[:80]!r} {error}; correct it there.") from None
    if found is None:
        raise GaudiError(
            f"{interface}: the switch's description {text[:80]!r} has no address; set one as 'no-alert "
            "10.200.10.2/30', or use gaudi_fabric_addresses: plan."
        )
    return PortAddress(*slot, found.address, found.switch, found.prefix)
