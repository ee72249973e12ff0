# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Metrics of the cards' external ports, which are network interfaces; the internal ones are none, and not here."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .._cards.accel_sysfs import attribute
from .._fabric.sysfs import CardPort, card_ports
from .card_readings import number
from .exposition import COUNTER, Family, Sample


def port_families(kernel_root: str) -> Iterable[Family]:
    """From sysfs alone: nobody asks a card."""
    ports = card_ports(kernel_root)
    yield Family(
        "gaudi_port_up",
        "1 where an external port of a card has a link.",
        tuple(Sample(port.link, _labels(port)) for port in ports),
    )
    changes = ((port, _changes(kernel_root, port)) for port in ports)
    yield Family(
        "gaudi_port_carrier_changes_total",
        "How often the link of the port came or went, since the driver was loaded.",
        tuple(Sample(count, _labels(port)) for port, count in changes if count is not None),
        COUNTER,
    )


def _changes(kernel_root: str, port: CardPort) -> float | None:
    return number(attribute(Path(kernel_root, "sys/class/net", port.interface), "carrier_changes"))


def _labels(port: CardPort) -> dict[str, str]:
    slot = port.pci_address if port.module_id is None else str(port.module_id)
    return {"card": slot, "port": port.interface if port.number is None else str(port.number)}
