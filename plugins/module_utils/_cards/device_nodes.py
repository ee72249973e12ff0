# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The device nodes of cards, one by one, in the form of an engine's ``--device``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .accel_sysfs import AccelDevice

# For the connections of the cards' verbs devices; there once for all of them.
_CONNECTIONS = "/dev/infiniband/rdma_cm"


def node_paths(kernel_root: str, index: int, pci_address: str) -> tuple[str, ...]:
    """A card's two nodes, and the verbs device that the PCI device names, as the vendor's runtime finds it; those that
    are there."""
    verbs = Path(kernel_root, "sys/bus/pci/devices", pci_address, "infiniband_verbs").glob("uverbs[0-9]*")
    paths = [
        f"/dev/accel/accel{index}",
        f"/dev/accel/accel_controlD{index}",
        *(f"/dev/infiniband/{device.name}" for device in sorted(verbs)),
    ]
    return tuple(path for path in paths if Path(kernel_root, path[1:]).exists())


def device_words(cards: Iterable[AccelDevice], kernel_root: str = "/") -> tuple[str, ...]:
    """HOST:CONTAINER of each node of the cards, in the order of the indexes."""
    ordered = sorted(cards, key=lambda card: card.index)
    paths = [path for card in ordered for path in node_paths(kernel_root, card.index, card.pci_address)]
    shared = [_CONNECTIONS] if paths and Path(kernel_root, _CONNECTIONS[1:]).exists() else []
    return tuple(f"{Path(kernel_root, path[1:])}:{path}" for path in (*paths, *shared))
