# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``hl-smi -n link|ports|stats``: the network ports of one card; the external ones only with -P."""

from __future__ import annotations

from ..boards import PORTS
from ..readings import CardReading


def links(reading: CardReading, *, external: bool) -> str:
    """Whether each port has a link."""
    return "\n".join(f"port {port:>2}:\t{_state(reading, port)}" for port in _shown(reading, external=external))


def kinds(reading: CardReading, *, external: bool) -> str:
    """Which ports leave the chassis; all ports are listed."""
    del external
    outside = reading.board.external(reading.card.module_id)
    return "\n".join(f"port {port}: {'external' if port in outside else 'internal'}" for port in range(PORTS))


def statistics(reading: CardReading, *, external: bool) -> str:
    """Counters of each port; the real tool's names are not public in full."""
    blocks = []
    for port in _shown(reading, external=external):
        blocks.append(f"port {port}:\n\tspmu_req_out_of_range_psn: 0\n\teth_rx_fcs_errors: 0\n\tpcs_link_toggles: 0")
    return "\n".join(blocks)


def _shown(reading: CardReading, *, external: bool) -> tuple[int, ...]:
    return tuple(range(PORTS)) if external else reading.board.internal(reading.card.module_id)


def _state(reading: CardReading, port: int) -> str:
    return "UP" if port in reading.ports_up else "DOWN"
