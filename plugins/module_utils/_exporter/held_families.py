# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How much of each card's memory its job holds, as Synapse reports it: seen from outside, and nobody asks a card."""

from __future__ import annotations

from collections.abc import Iterable

from .._cards.accel_sysfs import accel_devices
from .._cards.hbm_use import SHARED_MEMORY, on_cards
from .._node.kernel_modules import find_holders
from .exposition import Family, Sample


def held_families(kernel_root: str, proc: str = "/proc", shared_memory: str = SHARED_MEMORY) -> Iterable[Family]:
    """Of the cards of which it is known."""
    devices = accel_devices(kernel_root)
    slots = {f"accel{one.index}": one.pci_address if one.module_id is None else str(one.module_id) for one in devices}
    held = on_cards(find_holders(kernel_root, proc), proc, shared_memory) if devices else {}
    yield Family(
        "gaudi_card_held_memory_bytes",
        "What the process that has the card holds of its memory, by Synapse.",
        tuple(Sample(used, {"card": slots[name]}) for name, used in sorted(held.items()) if name in slots),
    )
