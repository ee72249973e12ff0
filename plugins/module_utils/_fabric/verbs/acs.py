# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""PCIe Access Control Services of the bridges above some cards: which of them redirect. Pure: bytes in, addresses out.

A bridge that redirects peer-to-peer requests sends what a network card and an accelerator say to each other up to the
root complex. Layout: PCI Express Base Specification, Access Control Services extended capability.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..._cards.pcie import access_control

_HEADER_TYPE, _BRIDGE = 0x0E, 1
_SECONDARY_BUS, _SUBORDINATE_BUS = 0x19, 0x1A
# P2P request redirect, P2P completion redirect, upstream forwarding, P2P egress control; the rest redirects nothing.
REDIRECTS = 0x04 | 0x08 | 0x10 | 0x20


def is_bridge(config: bytes) -> bool:
    """Whether this is the configuration space of a bridge; its header can be read without being root."""
    return len(config) > _SUBORDINATE_BUS and config[_HEADER_TYPE] & 0x7F == _BRIDGE


def leads_to(address: str, config: bytes, endpoints: Collection[str]) -> bool:
    """Whether one of ``endpoints`` (such as 0000:5a:00.0) is behind the bridge at ``address``."""
    buses = range(config[_SECONDARY_BUS], config[_SUBORDINATE_BUS] + 1)
    return any(_domain(one) == _domain(address) and _bus(one) in buses for one in endpoints)


def redirecting(configs: Mapping[str, bytes], endpoints: Collection[str]) -> tuple[str, ...] | None:
    """Addresses of the bridges above ``endpoints`` that redirect; None where one of them cannot be read."""
    above = [
        address for address, config in configs.items() if is_bridge(config) and leads_to(address, config, endpoints)
    ]
    controls = {address: access_control(configs[address]) for address in sorted(above)}
    if None in controls.values():
        return None
    return tuple(address for address, bits in controls.items() if (bits or 0) & REDIRECTS)


def _domain(address: str) -> str:
    return address.split(":")[0]


def _bus(address: str) -> int:
    return int(address.split(":")[1], 16)
