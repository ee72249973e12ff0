# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``hl-smi [-i ADDRESS] -p WATTS``: the power limit of a card, or of all.

Option and range are in docs.habana.ai System_Management_Interface_Tool. UNVERIFIED: what the real tool says to either
end, and that it takes all cards where -i names none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..faults import hits
from ..kernel_tree import refresh
from ..node_state import Node, locked, read, replace, write
from ..readings import CardReading


def refusal(chosen: Sequence[CardReading], watts: int) -> str:
    """Why these cards cannot have this limit; empty where they can."""
    for reading in chosen:
        least, most = reading.board.least_limit_watts, reading.board.limit_watts
        if not least <= watts <= most:
            return f"power limit {watts} W is out of range ({least} W to {most} W)"
    return ""


def limited(node: Node, addresses: Collection[str], watts: int) -> Node:
    """The node in which the cards at ``addresses`` have this limit; one with the fault keeps its own."""
    cards = tuple(
        replace(card, power_limit=watts)
        if card.pci_address in addresses and not hits(node.faults, "power_limit_ignored", card.module_id)
        else card
        for card in node.cards
    )
    return replace(node, cards=cards)


def set_limit(chosen: Sequence[CardReading], watts: int) -> str:
    """Keep the limit with the running node, and tell what was set."""
    addresses = [reading.card.pci_address for reading in chosen]
    with locked():
        node = limited(read(), addresses, watts)
        write(node)
        refresh(node)
    return "\n".join(f"{address}: power limit set to {watts} W" for address in addresses)
