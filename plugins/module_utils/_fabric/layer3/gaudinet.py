# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""``gaudinet.json``: what HCL takes a layer 3 network from. Pure text.

HCL needs all four keys of each entry, and reads the legacy file only where the other is missing (parseGaudinet of its
open sources). An entry with the MAC address of a card that is gone ends in errors of queue pairs.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping, Sequence

from ..._node.json_file import parse_object
from .networkd import RoutedPort

FILE = "habanalabs/gaudinet.json"
LEGACY_FILE = "gaudinet.json"
_KEY = "NIC_NET_CONFIG"


def render(ports: Sequence[RoutedPort], gateways: Mapping[str, str]) -> str:
    """The file for ``ports``; ``gateways`` has the MAC address at the other end, by interface."""
    entries = [
        {
            "NIC_MAC": port.mac,
            "NIC_IP": port.planned.address,
            "SUBNET_MASK": str(ipaddress.IPv4Network((0, port.planned.prefix)).netmask),
            "GATEWAY_MAC": gateways[port.interface],
        }
        for port in ports
    ]
    return json.dumps({_KEY: entries}, indent=2) + "\n"


def macs_in(text: str) -> list[str]:
    """The NIC_MAC of each entry that has one; nothing of a text that is no such file."""
    try:
        entries = parse_object(text).get(_KEY)
    except ValueError:
        return []
    found = [one.get("NIC_MAC") for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []
    return [mac.lower() for mac in found if isinstance(mac, str)]
