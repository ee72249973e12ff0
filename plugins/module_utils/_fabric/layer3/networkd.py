# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The files of systemd-networkd for the cards' ports, and what keeps others away from those. Pure text.

Each port is met by its MAC address: names of interfaces change with the kernel and the slot. Traffic from a port's
address leaves by that port, through a routing table of its own: 24 ports with the same way out would else all use one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..._node.rendered_files import WantedFile
from .address_plan import PortAddress

DIRECTORY = "systemd/network"
PREFIX = "50-gaudi3-scale-card"
FILES = f"{PREFIX}*.network"
FOREIGN_FILE = "systemd/networkd.conf.d/50-gaudi3-scale.conf"
NETWORK_MANAGER = "NetworkManager"
NETWORK_MANAGER_FILE = f"{NETWORK_MANAGER}/conf.d/90-gaudi3-scale.conf"
# Tables and rules of ours are told by their number; 253 to 255 are the kernel's, others choose small ones.
TABLE = 31000
RULE_PRIORITY = 31000
_PORTS_OF_CARD = 100
_MAC = re.compile(r"^MACAddress=(\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class RoutedPort:
    """A port of this node, and the addresses of its cable."""

    interface: str
    mac: str
    link: bool
    planned: PortAddress


def table_of(port: PortAddress) -> int:
    """The routing table of a port."""
    return TABLE + port.module_id * _PORTS_OF_CARD + port.port


def port_text(port: RoutedPort, mtu: int) -> str:
    """A .network file. A port without a cable must not hold up the boot."""
    one, table = port.planned, table_of(port.planned)
    return f"""\
# Written by gaudi3.scale for port {one.port} of the card with module id {one.module_id}.
[Match]
MACAddress={port.mac}

[Link]
MTUBytes={mtu}
RequiredForOnline=no

[Network]
Address={one.address}/{one.prefix}
LinkLocalAddressing=no
IPv6AcceptRA=no
LLDP=no

[Route]
Destination=0.0.0.0/0
Gateway={one.switch}
Table={table}

[RoutingPolicyRule]
From={one.address}/32
Table={table}
Priority={RULE_PRIORITY}
"""


def file_of(etc: str, port: PortAddress) -> str:
    """By the port's place in the server, so that a new card has the file of the one that it replaces."""
    return f"{etc}/{DIRECTORY}/{PREFIX}{port.module_id}-port{port.port}.network"


def mac_in(text: str) -> str:
    """The MAC address that a file of ours matches."""
    found = _MAC.search(text)
    return found[1].lower() if found else ""


def foreign_text() -> str:
    """Without this, systemd-networkd takes away routes and rules that other programs have made."""
    return """\
# Written by gaudi3.scale: this node's other networks are not systemd-networkd's.
[Network]
ManageForeignRoutes=no
ManageForeignRoutingPolicyRules=no
"""


def network_manager_text(macs: Sequence[str]) -> str:
    """A section, since `unmanaged-devices` of another file would be replaced."""
    return f"""\
# Written by gaudi3.scale: systemd-networkd has the cards' ports.
[device-gaudi3-scale]
match-device={";".join(f"mac:{mac}" for mac in macs)}
managed=0
"""


def wanted_files(
    etc: str, ports: Sequence[RoutedPort], mtu: int, *, network_manager: bool, alone: bool
) -> list[WantedFile]:
    """All of them. ``alone``: nothing else on this node is systemd-networkd's."""
    texts = {file_of(etc, port.planned): port_text(port, mtu) for port in ports}
    texts[f"{etc}/{FOREIGN_FILE}"] = foreign_text() if alone else ""
    manager = network_manager_text([port.mac for port in ports]) if network_manager else ""
    texts[f"{etc}/{NETWORK_MANAGER_FILE}"] = manager
    return [WantedFile(path, text or None) for path, text in texts.items()]
