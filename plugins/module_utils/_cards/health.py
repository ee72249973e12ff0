# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether a node's cards work, and whether they let it take part in a job."""

from __future__ import annotations

from .._checks.check import Check, failed, refusal
from .._node.commands import Run
from .hpu_facts import HpuFacts, gather

HEALTHY_STATUS = "Operational"


def unfit_reason(device: str, cards: int, run: Run, kernel_root: str) -> str:
    """Why this node cannot take part; empty where it can. ``cards``: how many the job needs of it."""
    if device != "hpu":
        return ""
    problems = failed(card_checks(gather(run, kernel_root), cards))
    return refusal("its cards are not all healthy", problems) if problems else ""


def card_checks(facts: HpuFacts, cards: int) -> list[Check]:
    """Pure: whether all cards are there and initialised. Temperature 0 is what hl-smi shows for a dead card."""
    addresses = ", ".join(card.pci_address for card in facts.cards)
    ill = [
        f"{card.pci_address} {card.status or 'without driver'}" for card in facts.cards if card.status != HEALTHY_STATUS
    ]
    cold = [card.pci_address for card in facts.cards if card.temperature_c in (None, 0)]
    return [
        Check("cards", facts.count >= cards, str(cards), f"{facts.count} ({addresses})", "see `lspci -d 1da3:`"),
        Check("status", not ill, HEALTHY_STATUS, ", ".join(ill) or "none", "see `dmesg | grep -E 'habanalabs|accel'`"),
        Check(
            "temperature", not cold, "above 0 C", f"none at {', '.join(cold)}", "the card did not initialise: reboot"
        ),
    ]
