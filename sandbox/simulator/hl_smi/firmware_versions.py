# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``hl-smi --fw-versions``. No listing of the real one is public: the layout is that of -L, the components are named in
docs.habana.ai Firmware_Upgrade.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..readings import CardReading


def page(readings: Sequence[CardReading]) -> str:
    """A block a card, a component a line."""
    blocks = []
    for reading in readings:
        version = f"hl-{reading.board.firmware_name}-{reading.firmware}"
        components = {"erom": version, "preboot": version, "fit": version, "cpld": "0x00000010"}
        lines = [f"        {name:<32}: {value}" for name, value in components.items()]
        blocks.append("\n".join([f"[{reading.index}] AIP (accel{reading.index}) {reading.card.pci_address}", *lines]))
    return "\n\n".join(blocks)
