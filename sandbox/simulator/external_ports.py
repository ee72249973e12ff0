# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The cards' external ports in /sys/class/net. One that `sandbox fabric` has cabled is a real interface of this node.

Of such a port the simulated files are links to the kernel's own, so that what `ip` and systemd-networkd do shows.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from .boards import PORTS
from .node_state import Card, Node, read
from .readings import CardReading, cards_on_bus, macs, readings

REAL = Path("/sys/class/net")
# What an interface shows of itself; all else is its card's.
OWN = ("operstate", "carrier", "flags", "address", "mtu")


@dataclass(frozen=True)
class Port:
    """An external port: its place, the interface's name, its MAC address."""

    module_id: int
    port: int
    interface: str
    mac: str


def ports_of(node: Node) -> list[Port]:
    """All that the cards on the bus have, by module id and number, whether or not the driver is loaded."""
    return [
        Port(card.module_id, port, interface_of(card, port), macs(card, PORTS)[port])
        for card in sorted(cards_on_bus(node), key=lambda one: one.module_id)
        for port in node.board.external(card.module_id)
    ]


def interface_of(card: Card, port: int) -> str:
    """As systemd names it by its place on the bus."""
    return f"enp{int(card.pci_address[5:7], 16)}s0d{port}"


def real_interfaces() -> frozenset[str]:
    """The names of all interfaces of this container."""
    return frozenset(path.name for path in REAL.glob("*"))


def files(node: Node, real: Collection[str]) -> dict[str, str]:
    """Path below the kernel root -> content."""
    found = {}
    for reading, port, name in _shown(node):
        directory = f"sys/class/net/{name}"
        found[f"{directory}/dev_port"] = f"{port}\n"
        if name not in real:
            up = port in reading.ports_up
            found[f"{directory}/operstate"] = "up\n" if up else "down\n"
            found[f"{directory}/carrier"] = "1\n" if up else "0\n"
            # Bit 0 is IFF_UP of linux/if.h: switched on, whether or not there is a link.
            found[f"{directory}/flags"] = "0x1003\n" if node.external_ports_up else "0x1002\n"
            found[f"{directory}/address"] = reading.macs[port] + "\n"
            found[f"{directory}/mtu"] = "1500\n"
    return found


def links(node: Node, real: Collection[str]) -> dict[str, str]:
    """Path below the kernel root -> what a symbolic link there leads to."""
    found = {}
    for reading, _port, name in _shown(node):
        found[f"sys/class/net/{name}/device"] = f"../../../bus/pci/devices/{reading.card.pci_address}"
        if name in real:
            found |= {f"sys/class/net/{name}/{value}": f"{REAL}/{name}/{value}" for value in OWN}
    return found


def _shown(node: Node) -> Iterator[tuple[CardReading, int, str]]:
    """The ports once their network driver is loaded."""
    if "habanalabs_en" in node.modules:
        for reading in readings(node):
            for port in reading.board.external(reading.card.module_id):
                yield reading, port, interface_of(reading.card, port)


def switch_real(node: Node, state: str) -> None:
    """Switch those that are real ``up`` or ``down``, as the driver and the vendor's script do."""
    real = real_interfaces()
    for port in ports_of(node):
        if port.interface in real:
            subprocess.run(["ip", "link", "set", port.interface, state], check=True)


def main(arguments: list[str]) -> int:
    """``external-ports``: print them as JSON."""
    del arguments
    print(json.dumps([vars(port) for port in ports_of(read())]))
    return 0
