# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What forbids that a card is written: each function gives a clause, or None where it has nothing against it. Pure."""

from __future__ import annotations

from typing import Sequence

from .spi import FlashCard, Spi, Unreadable, Written, parse_spi


def generation_refusal(cards: Sequence[FlashCard], expected: int) -> str | None:
    """Why no target can be meant for these cards together, None when they are alike and all there."""
    if not cards:
        return "there is no Gaudi card on the PCI bus"
    unknown = [card for card in cards if card.generation is None]
    if unknown:
        return f"{unknown[0]} has the PCI id {unknown[0].pci_id}, which is not known"
    if len({card.board for card in cards}) > 1:
        kinds = "; ".join(f"{card} is a {card.board}" for card in cards)
        return f"the cards are of different boards, and an image is for one ({kinds})"
    if expected and len(cards) != expected:
        return f"{len(cards)} of {expected} cards are there, and the others would keep their firmware"
    return None


def named(cards: Sequence[FlashCard], refused: Sequence[str | None]) -> list[str]:
    """A clause for each reason, with all cards that it is true of; ``refused`` has a reason or None for each card."""
    return [
        f"{', '.join(str(card) for card, one in zip(cards, refused) if one == reason)}: {reason}"
        for reason in dict.fromkeys(refused)
        if reason
    ]


def card_refusal(card: FlashCard, target: Spi, written: Written | None) -> str | None:
    """Why ``card`` must not be written to ``target``, without its name; None when it may."""
    have = card.have
    if isinstance(have, Unreadable):
        return f"shows {have}, which is not an SPI version"
    floor = max(have.security, _security(written))
    if target.security < floor:
        return f"the security version {floor} may not go down to {target.security}"
    return None


def _security(written: Written | None) -> int:
    """The security version that a card may have been given already without showing it."""
    spi = parse_spi(written.target) if written is not None else None
    return spi.security if isinstance(spi, Spi) else 0


def image_refusal(found: Sequence[str], target: Spi, generation: str, image: str) -> str | None:
    """Why ``image``, which has the version strings ``found`` in it, is not the accepted one; None when it is or may be.

    The layout of an image is not published. One without a single version string cannot be judged before it is written.
    """
    if not found:
        return None
    plain = str(target).rpartition("-sec-")[0]
    own = [text for text in found if text.startswith(f"hl-{generation}-")]
    if not own:
        return f"{image} is an image for {', '.join(found)}, not for {generation}"
    names = {text[len(f"hl-{generation}-") :] for text in own}
    full = {name for name in names if "-sec-" in name}
    if (str(target) in full) if full else (plain in names):
        return None
    return f"{image} holds {', '.join(sorted(full or names))}, not the accepted {target}"
