# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether a node's cards work, and whether they let it take part in a job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .._node.check import Check, failed, refusal
from .._node.commands import Run
from .accel_sysfs import HEALTHY_STATUS
from .hpu_facts import Card, HpuFacts, gather
from .verbs_checks import verbs_checks

# For whoever reads that a value is not known.
ASK_AS_ROOT = "run hl-smi as root and check its error"


def unfit_reason(device: str, cards: int, run: Run, kernel_root: str, modules: Sequence[int] = ()) -> str:
    """Why this node cannot take part; empty where it can. ``cards``: how many the job needs of it, and ``modules``
    which; none: all that there are have to be well.

    A value that hl-smi does not tell is no reason: the driver says by itself whether a card works.
    """
    if device != "hpu":
        return ""
    facts = gather(run, kernel_root)
    facts = _of_modules(facts, modules) if modules else facts
    # Ranks on several cards talk through their verbs devices; one card alone needs none.
    bad = failed([*card_checks(facts, cards), *(verbs_checks(facts) if cards > 1 else [])])
    problems = [check for check in bad if not check.unknown]
    return refusal("its cards are not all healthy", problems) if problems else ""


def _of_modules(facts: HpuFacts, modules: Sequence[int]) -> HpuFacts:
    """As if the node had these cards alone."""
    cards = tuple(card for card in facts.cards if card.module_id in modules)
    others = {card.verbs_device for card in facts.cards if card not in cards}
    devices = tuple(name for name in facts.verbs_devices if name not in others)
    return replace(facts, cards=cards, count=len(cards), verbs_devices=devices)


def card_checks(facts: HpuFacts, cards: int) -> list[Check]:
    """Pure: whether all cards are there and initialized. Temperature 0 is what hl-smi shows for a dead card."""
    addresses = ", ".join(card.pci_address for card in facts.cards)
    ill = [
        f"{card.pci_address} {card.status or 'without driver'}" for card in facts.cards if card.status != HEALTHY_STATUS
    ]
    return [
        Check("cards", facts.count >= cards, str(cards), f"{facts.count} ({addresses})", "see `lspci -d 1da3:`"),
        Check("status", not ill, HEALTHY_STATUS, ", ".join(ill) or "none", "see `dmesg | grep -E 'habanalabs|accel'`"),
        _temperature(facts),
    ]


def _temperature(facts: HpuFacts) -> Check:
    """Unknown is not cold: of a card that did not initialize hl-smi shows 0."""
    expected = "above 0 C"
    cold = [card.pci_address for card in facts.cards if card.temperature_c == 0]
    if cold:
        return Check(
            "temperature", False, expected, f"none at {', '.join(cold)}", "the card did not initialize: reboot"
        )
    unknown = [card for card in facts.cards if card.temperature_c is None]
    found, remedy = ", ".join(map(_with_what_was_said, unknown)), not_told(unknown, "temperature.aip")
    return Check(
        "temperature",
        not unknown,
        expected,
        f"not known at {found}",
        remedy,
        message=f"temperature: it is not known at {found}; {remedy}." if unknown else "",
        unknown=bool(unknown),
    )


def _with_what_was_said(card: Card) -> str:
    said = card.absurd.get("temperature.aip")
    return card.pci_address if said is None else f"{card.pci_address} (hl-smi says {said})"


def not_told(cards: Iterable[Card], *names: str) -> str:
    """What to do where cards do not tell a value that hl-smi calls so, or tell one that no card can have."""
    if any(name in card.absurd for card in cards for name in names):
        return (
            f"the value from hl-smi is impossible, so the firmware reports nothing usable: {ASK_AS_ROOT}, then "
            "update it"
        )
    return f"hl-smi reports no value: {ASK_AS_ROOT}"
