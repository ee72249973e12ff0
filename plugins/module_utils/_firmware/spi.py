# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The SPI firmware of cards as values: what a card shows, what was accepted, what each card needs, and what forbids it.

Nothing here touches a card. The form ``1.22.0-fw-61.3.2-sec-3`` is that of the vendor's listings (docs.habana.ai
Firmware_Upgrade) and recipes; ``sec-N`` is the security version. A text that is not exactly of this form is
:class:`Unreadable` and equal to nothing: recipes whose targets had a blank or a digit too many flashed at every run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Mapping, Sequence

from .._cards.hardware import GENERATIONS, generation_named
from .._errors import GaudiError
from .._releases.lookup import RELEASES

_VERSION = re.compile(
    r"(?:hl-(?P<generation>gaudi\d?)-)?(?P<release>\d+\.\d+\.\d+)-fw-(?P<firmware>\d+\.\d+\.\d+)-sec-(?P<security>\d+)"
)
_BRACKETS = re.compile(r"\([^()]*\)")

CURRENT = "current"
FLASH = "flash"
POWER_CYCLE = "power cycle needed"
UNREADABLE = "unreadable"
NO_TARGET = "no target"


@dataclass(frozen=True)
class Spi:
    """One SPI version. ``generation`` is what the text itself names (``hl-gaudi3-...``), None where it names none."""

    release: tuple[int, ...]
    firmware: tuple[int, ...]
    security: int
    generation: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{_dotted(self.release)}-fw-{_dotted(self.firmware)}-sec-{self.security}"


@dataclass(frozen=True, eq=False)
class Unreadable:
    """A text that is no SPI version, or no text at all. Not equal to anything, itself included."""

    text: str

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return repr(self.text) if self.text else "nothing"


def parse_spi(text: str | None) -> Spi | Unreadable:
    """The SPI version in ``Preboot version hl-gaudi3-1.22.0-fw-61.3.2-sec-3 (date)``, or in what a person wrote.

    Blanks around it and remarks in brackets do not count; anything else beside the one version makes it unreadable.
    """
    words = [word for word in _BRACKETS.sub(" ", text or "").split() if word not in ("Preboot", "version")]
    match = _VERSION.fullmatch(words[0]) if len(words) == 1 else None
    if match is None:
        return Unreadable(" ".join(words))
    return Spi(_numbers(match["release"]), _numbers(match["firmware"]), int(match["security"]), match["generation"])


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _dotted(numbers: Sequence[int]) -> str:
    return ".".join(map(str, numbers))


def accepted_targets(accept: Mapping[str, object], known: Mapping[str, Sequence[str]] | None = None) -> dict[str, Spi]:
    """The targets that the operator accepted, by generation; raises :class:`GaudiError` for one that cannot be meant.

    ``known`` maps a generation to the targets that are published for it (default: those of the release table).
    """
    published = published_targets() if known is None else known
    targets: dict[str, Spi] = {}
    for generation, text in accept.items():
        if generation_named(generation) is None:
            names = ", ".join(one.name for one in GENERATIONS)
            raise GaudiError(
                f"accept names {generation!r}, which is not a generation; use {names}.", accept=dict(accept)
            )
        target = parse_spi(str(text))
        if isinstance(target, Unreadable):
            raise GaudiError(
                f"accept gives {generation} the target {target}, which is not an SPI version; write it in full, for "
                "example 1.22.0-fw-61.3.2-sec-3.",
                accept=dict(accept),
            )
        other = _belongs_to(target, generation, {**accept}, published)
        if other:
            raise GaudiError(
                f"accept gives {generation} the target {target}, which is that of {other}; each has its own.",
                accept=dict(accept),
            )
        targets[generation] = target
    return targets


def _belongs_to(
    target: Spi, generation: str, accept: Mapping[str, object], published: Mapping[str, Sequence[str]]
) -> str | None:
    """The other generation whose string ``target`` is, None where it is nobody else's."""
    if target.generation not in (None, generation):
        return target.generation
    twice = [name for name, text in accept.items() if name != generation and parse_spi(str(text)) == target]
    if twice:
        return twice[0]
    if str(target) in published.get(generation, ()):
        return None
    return next((name for name, texts in published.items() if name != generation and str(target) in texts), None)


def published_targets() -> dict[str, list[str]]:
    """The targets in the release table, by generation."""
    targets: dict[str, list[str]] = {}
    for release in RELEASES.values():
        for generation, text in release.firmware.items():
            targets.setdefault(generation, []).append(text)
    return targets


@dataclass(frozen=True)
class FlashCard:
    """A card as this node shows it. ``spi`` and ``fit`` are the texts as they came, None where nothing was shown."""

    pci_address: str
    pci_id: str
    generation: str | None
    board: str | None
    module_id: int | None = None
    serial: str | None = None
    spi: str | None = None
    fit: str | None = None

    @property
    def have(self) -> Spi | Unreadable:
        """The SPI version; unreadable too where the text names another generation than the card is of."""
        spi = parse_spi(self.spi)
        if isinstance(spi, Spi) and spi.generation not in (None, self.generation):
            return Unreadable(f"{spi} of {spi.generation}")
        return spi

    def __str__(self) -> str:
        return f"card {'?' if self.module_id is None else self.module_id} ({self.pci_address})"


@dataclass(frozen=True)
class Written:
    """What the record says was done to a card: ``state`` is one of the words below, ``log`` is the tool's own."""

    pci_address: str
    target: str
    before: str
    time: str
    boot_id: str
    state: str
    serial: str | None = None
    log: str = ""


WRITING = "writing"
WRITTEN = "written"
FAILED = "failed"


def verdict(card: FlashCard, target: Spi | None, written: Written | None, flash_again: bool, boot_id: str) -> str:
    """What ``card`` needs to come to ``target``.

    A card that was written to the target and still shows another string waits for its power cycle and is not written
    again, whatever the reason for waiting. ``flash_again`` lifts that for a card that has seen another boot since.
    A card that shows the target is still to be written where something else, or half of it, was put over it since.
    """
    if isinstance(card.have, Unreadable):
        return UNREADABLE
    if target is None:
        return NO_TARGET
    if card.have == target:
        return FLASH if _holds_another(card, target, written) else CURRENT
    if written is not None and written.state == WRITTEN and parse_spi(written.target) == target:
        return FLASH if flash_again and written.boot_id != boot_id else POWER_CYCLE
    return FLASH


def _holds_another(card: FlashCard, target: Spi, written: Written | None) -> bool:
    """Whether ``card`` shows what it had before it was written to another target, which then is what its flash has."""
    return written is not None and parse_spi(written.target) != target and parse_spi(written.before) == card.have


def are_equal(cards: Sequence[FlashCard]) -> bool | None:
    """Whether all cards show the same SPI version; None without cards or where one cannot be read."""
    versions = [card.have for card in cards]
    if not versions or any(isinstance(version, Unreadable) for version in versions):
        return None
    return all(version == versions[0] for version in versions)
