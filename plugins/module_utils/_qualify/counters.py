# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What cards count: errors of their memory, rows that wait to be replaced, links that are down; pure."""

from __future__ import annotations

from .._cards.hpu_facts import HpuFacts


def grown(before: HpuFacts, after: HpuFacts) -> list[str]:
    """A sentence for each thing that is worse afterwards."""
    cards = {card.pci_address: card for card in after.cards}
    found = [f"card {card.pci_address} is gone." for card in before.cards if card.pci_address not in cards]
    for card in before.cards:
        now = cards.get(card.pci_address)
        if now is None:
            continue
        # What was not known before, or is not now, has not grown.
        counted = None not in (card.ecc_uncorrected, now.ecc_uncorrected)
        errors = (now.ecc_uncorrected or 0) - (card.ecc_uncorrected or 0) if counted else 0
        if errors > 0:
            found.append(f"card {card.pci_address} has counted {errors} uncorrected memory errors.")
        if now.row_replacement_pending and not card.row_replacement_pending:
            found.append(f"card {card.pci_address} waits to replace a row of its memory.")
        known = None not in (card.rows_replaced, now.rows_replaced)
        rows = (now.rows_replaced or 0) - (card.rows_replaced or 0) if known else 0
        if rows > 0:
            found.append(f"card {card.pci_address} has replaced {rows} memory rows.")
        # A card that its driver holds has one: what hl-smi did not say is not known.
        if card.status != now.status and (now.status or now.accel_index is None):
            found.append(f"card {card.pci_address} was {card.status} and is {now.status}.")
    lost = [port for port in after.links.internal.down if port not in before.links.internal.down]
    return found + [f"the link {port} went down." for port in lost]


def throttled(before: HpuFacts, after: HpuFacts) -> list[str]:
    """A sentence for each card whose clock was reduced meanwhile, which a stress test may do to a good one."""
    earlier = {card.pci_address: card.throttle_counters for card in before.cards}
    found = []
    for card in after.cards:
        known = earlier.get(card.pci_address, {})
        more = [name for name, count in card.throttle_counters.items() if count > known.get(name, count)]
        reasons = dict.fromkeys((*more, *(card.throttled_by or ())))
        if reasons:
            found.append(f"card {card.pci_address} had its clock reduced for {' and '.join(reasons)}.")
    return found
