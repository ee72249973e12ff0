# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which cards get another power limit, as values: what cannot be meant is refused, and what is left is to be set.

A limit is that of a card's 54 V rail, in W. It is one of power: nothing here sets a clock, and nothing could.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .._cards.hardware import Generation
from .._errors import GaudiError
from .._node.kernel_modules import Holder


@dataclass(frozen=True)
class PowerOptions:
    """What the operator asks for; see the documentation of the module ``hpu_power``."""

    watts: int
    cards: Sequence[int] = ()
    range: Sequence[int] = ()
    while_busy: bool = False


@dataclass(frozen=True)
class PowerCard:
    """A card of the node. ``limit`` is what it shows, None where nothing tells one; ``holders`` compute on it.

    ``own_range`` is the least and the most that its limit can be, as the card itself says; None where it does not.
    """

    pci_address: str
    pci_id: str
    generation: Generation | None = None
    module_id: int | None = None
    limit: int | None = None
    holders: tuple[Holder, ...] = ()
    own_range: tuple[int, int] | None = None

    def __str__(self) -> str:
        return f"card {self.pci_address if self.module_id is None else f'{self.module_id} ({self.pci_address})'}"


def require_meant(options: PowerOptions) -> None:
    """Raises GaudiError for options that no node can mean."""
    if not options.range:
        return
    if len(options.range) != 2:
        raise GaudiError(
            f"range (gaudi_power_range) is {_listed(options.range)}; give the least and the most W, such as [450, 850]."
        )
    least, most = options.range
    if least > most:
        raise GaudiError(
            f"range (gaudi_power_range) is [{least}, {most}], whose ends are swapped; give [{most}, {least}]."
        )
    _require_within(options.watts, (least, most), "range (gaudi_power_range)")


def chosen(options: PowerOptions, cards: Sequence[PowerCard]) -> tuple[PowerCard, ...]:
    """The cards that are meant; raises GaudiError where one is not there, or may not have this limit."""
    if not cards:
        raise GaudiError("No Gaudi card is on the PCI bus of this node; leave the node out, or look at its event log.")
    there = {card.module_id for card in cards}
    missing = [number for number in options.cards if number not in there]
    if missing:
        known = _listed(sorted(number for number in there if number is not None)) or "none that a driver knows"
        raise GaudiError(
            f"cards (gaudi_power_cards) names {_listed(missing)}, which is not on this node; its module ids are "
            f"{known}."
        )
    meant = tuple(card for card in cards if not options.cards or card.module_id in options.cards)
    for card in meant:
        _require_allowed(options, card)
    return meant


def plan(options: PowerOptions, cards: Iterable[PowerCard]) -> tuple[PowerCard, ...]:
    """Of the cards that are meant those to set; raises GaudiError where a process would be slowed unasked.

    A card that tells no limit is not set: nobody could say afterwards whether it was.
    """
    due = tuple(card for card in cards if card.limit not in (None, options.watts))
    busy = [card for card in due if card.holders]
    if busy and not options.while_busy:
        held = "; ".join(f"{card} by {card.holders[0]}" for card in busy)
        raise GaudiError(
            f"Cards are in use, and a limit may slow what runs there: {held}. Wait for it to finish, leave them out by "
            "cards (gaudi_power_cards), or set while_busy (gaudi_power_while_busy)."
        )
    return due


def _require_allowed(options: PowerOptions, card: PowerCard) -> None:
    published = card.generation.power_limits_w if card.generation else None
    name = card.generation.label if card.generation else f"a card that is not known ({card.pci_id})"
    if published is not None:
        # A range of the site's is a part of this one: hl-smi refuses what is beyond.
        _require_within(options.watts, published, f"the range of {name} (hl-smi's manual)")
    if card.own_range is not None:
        _require_within(options.watts, card.own_range, f"the range of {card} (HLML)")
    elif published is None and not options.range:
        raise GaudiError(
            f"Which power limits {name} takes is not published, and {card} is one; give range (gaudi_power_range), the "
            "least and the most W, from the vendor's document for that board."
        )


def _require_within(watts: int, limits: tuple[int, int], whose: str) -> None:
    least, most = limits
    if not least <= watts <= most:
        raise GaudiError(
            f"watts (gaudi_power_watts) is {watts}, power outside the card's range: {whose} is {least} to {most} W; "
            "give watts within it."
        )


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
