# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether each card has its verbs device: without it the card counts and trains alone, and the first collective fails.

HCL ends then with "failed to find matching Habana IB device" (containers/ai-lab-recipes#483).
"""

from __future__ import annotations

from .._node.check import Check
from .hardware import board_of
from .hpu_facts import Card, HpuFacts
from .verbs_devices import MODULE

# HCL has no other way to the ports of these (its flag HCL_USE_IBVERBS went with 1.17).
_GENERATIONS = ("gaudi2", "gaudi3")


def verbs_checks(facts: HpuFacts) -> list[Check]:
    """None where no verbs device is due: without ``habanalabs_ib``, and of boards that show no external port."""
    due = [card for card in facts.cards if _is_due(card)]
    if MODULE not in facts.driver.modules or not due:
        return []
    without = [card.pci_address for card in due if card.verbs_device is None]
    placed = {card.verbs_device for card in facts.cards}
    # A device whose card sysfs does not tell may be that of any.
    missing = without if len(without) > len([name for name in facts.verbs_devices if name not in placed]) else []
    return [
        Check(
            "verbs devices",
            not missing,
            f"one of each of {len(due)} cards (hbl_N or hlib_N in /sys/class/infiniband)",
            _found(missing, len(due), facts.verbs_devices),
            f"see `dmesg | grep {MODULE}` (an unknown symbol: ib_uverbs has to be loaded before it), then load {MODULE}"
            " again; without them the first collective fails",
        )
    ]


def _is_due(card: Card) -> bool:
    board = board_of(card.pci_id)
    ports = board is not None and bool(board.external_ports) and not _shows_none(card)
    return ports and card.generation in _GENERATIONS and card.accel_index is not None


def _shows_none(card: Card) -> bool:
    board = board_of(card.pci_id)
    return board is not None and board.optional_ports and not card.external_links.total


def _found(missing: list[str], due: int, devices: tuple[str, ...]) -> str:
    if not missing:
        return f"{due}"
    if len(missing) == due:
        return "none of the cards'"
    return f"none of {', '.join(missing)} (of others {', '.join(devices)})"
