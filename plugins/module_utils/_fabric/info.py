# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a node tells of the cables at its cards' ports. Reads, and changes nothing."""

from __future__ import annotations

from typing import Any

from .._cards.accel_sysfs import pci_cards
from .._errors import GaudiError
from .._node.commands import Run
from .ip_addresses import ipv4_addresses
from .layer3.lldp import read_neighbors
from .sysfs import card_ports


def fabric_info(run: Run, kernel_root: str) -> dict[str, Any]:
    """What the module ``hpu_fabric_info`` returns."""
    ports = card_ports(kernel_root)
    names = {port.interface for port in ports}
    error = ""
    try:
        neighbors = [one._asdict() for one in read_neighbors(run) if one.interface in names]
    except GaudiError as refused:
        neighbors, error = [], str(refused)
    addresses = ipv4_addresses(run)
    return {
        "boards": sorted({card.pci_id for card in pci_cards(kernel_root)}),
        "ports": [{**vars(port), "addresses": addresses.get(port.interface, [])} for port in ports],
        "neighbors": neighbors,
        "lldp_error": error,
    }
