# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The cards' own verbs devices, which ``habanalabs_ib`` makes: HCL reaches each card's ports through them."""

from __future__ import annotations

from pathlib import Path

from .accel_sysfs import attribute, pci_cards
from .hardware import HABANA_VENDOR

# ``hbl_N``, and ``hlib_N`` in older drivers.
NAMES = ("hbl_", "hlib_")
MODULE = "habanalabs_ib"


def belongs_to_card(path: Path) -> bool:
    """Whether a device of the class ``infiniband`` is a Gaudi card's, and no network card's."""
    return path.name.startswith(NAMES) or attribute(path / "device", "vendor") == HABANA_VENDOR


def verbs_devices(kernel_root: str = "/") -> dict[str, str | None]:
    """Name -> PCI address of its card, None where sysfs does not tell. The number in a name is no identity."""
    cards = {card.pci_address for card in pci_cards(kernel_root)}
    paths = sorted(Path(kernel_root, "sys/class/infiniband").glob("*"))
    return {path.name: _card_of(path, cards, kernel_root) for path in paths if belongs_to_card(path)}


def _card_of(path: Path, cards: set[str], kernel_root: str) -> str | None:
    """A device may hang below the card's own, so every part of its path is looked at."""
    above = [part.lower() for part in (path / "device").resolve().parts]
    found = next((part for part in reversed(above) if part in cards), None)
    return found or next((card for card in sorted(cards) if _has(card, path.name, kernel_root)), None)


def _has(card: str, name: str, kernel_root: str) -> bool:
    below = Path(kernel_root, "sys/bus/pci/devices", card)
    return (below / "infiniband" / name).exists() or any(
        attribute(one, "ibdev") == name for one in below.glob("infiniband_verbs/uverbs[0-9]*")
    )
