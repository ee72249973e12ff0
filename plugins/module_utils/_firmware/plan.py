# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""From the firmware that the cards of a node show to the one that was accepted, as values: reasons, verdicts, steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Sequence

from .._node.kernel_modules import DRIVER_MODULE, Holder
from .._node.kernel_tree import kernel_tree
from .._node.steps import Step
from .._releases.lookup import Release
from .._verify.compatibility import firmware_obstacle
from .record import Record
from .refusals import card_refusal, generation_refusal, image_refusal, named
from .spi import FLASH, POWER_CYCLE, UNREADABLE, FlashCard, Spi, Unreadable, verdict

SHOWN = "shown"
FLASHED = "flashed"
# What the site's own command says about the write protection of the cards' flash.
WRITABLE = "writable"
PROTECTED = "protected"
UNKNOWN = "unknown"
_NO_TOOL = "hl-fw-loader is not installed: install the package habanalabs-firmware-odm"


@dataclass(frozen=True)
class FirmwareOptions:
    """What the operator asks for; see the documentation of the module ``hpu_firmware``. Times in seconds."""

    state: str
    release: str
    accept: Mapping[str, object] = field(default_factory=dict)
    release_overrides: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    image: str = ""
    write_protection_command: Sequence[str] = ()
    cards: int = 0
    flash_again: bool = False
    kernel_root: str = field(default_factory=kernel_tree)
    flash_timeout: float = 7200.0
    settle_timeout: float = 600.0
    lock_timeout: float = 300.0


@dataclass(frozen=True)
class FirmwareNode:
    """What is on the node.

    ``loaded`` are the loaded modules in load order, ``reload`` those to be loaded at the end, ``driver`` the release
    whose driver is loaded (or wanted); ``found`` are the version strings in ``image`` (None: no such file);
    ``protection`` is one of the words above, None where nobody was asked; ``writing`` is a flash that goes on;
    ``half_changed`` is a driver whose own change did not come to its end.
    """

    cards: tuple[FlashCard, ...]
    record: Record = field(default_factory=Record)
    boot_id: str = ""
    loaded: tuple[str, ...] = ()
    reload: tuple[str, ...] = ()
    driver: Release | None = None
    holders: tuple[Holder, ...] = ()
    image: str = ""
    found: tuple[str, ...] | None = None
    tool: bool = True
    protection: str | None = None
    writing: bool = False
    half_changed: bool = False
    ports: bool = False


def generation_of_node(node: FirmwareNode) -> str | None:
    """The generation of the cards; None without cards, where it is not known, and where generations are mixed."""
    generations = {card.generation for card in node.cards}
    return next(iter(generations)) if len(generations) == 1 else None


def target_of(node: FirmwareNode, targets: Mapping[str, Spi]) -> Spi | None:
    """The accepted target for this node's cards."""
    return targets.get(generation_of_node(node) or "")


def verdicts(options: FirmwareOptions, node: FirmwareNode, target: Spi | None) -> dict[str, str]:
    """PCI address to what the card needs."""
    return {
        card.pci_address: verdict(card, target, node.record.of(card), options.flash_again, node.boot_id)
        for card in node.cards
    }


def to_write(options: FirmwareOptions, node: FirmwareNode, target: Spi | None) -> list[FlashCard]:
    """The cards that have to be written, by module id."""
    needs = verdicts(options, node, target)
    return [card for card in node.cards if needs[card.pci_address] == FLASH]


def refusals(options: FirmwareOptions, release: Release, node: FirmwareNode, target: Spi | None) -> list[str]:
    """Why nothing may be written on this node, a clause each; empty where there is nothing to write."""
    if node.writing:
        return ["hl-fw-loader is still writing (unit gaudi3-scale-firmware.service): let it finish, and stop nothing"]
    alike = generation_refusal(node.cards, options.cards)
    if alike:
        return [alike]
    if target is None:
        return [_not_accepted(release, generation_of_node(node) or "")]
    unreadable = [card for card in node.cards if isinstance(card.have, Unreadable)]
    if unreadable and not node.loaded and not node.tool:
        return [_NO_TOOL]  # there is nobody who could tell what the cards have
    if unreadable:
        return named(unreadable, [card_refusal(card, target, None) for card in unreadable])
    cards = to_write(options, node, target)
    if not cards:
        return []
    reasons: list[str | None] = []
    reasons += named(cards, [card_refusal(card, target, node.record.of(card)) for card in cards])
    reasons += [_boot_firmware(node, cards, target), _image(node, target, cards[0].generation or ""), _protection(node)]
    if not node.tool:
        reasons.append(_NO_TOOL)
    if node.half_changed:
        reasons.append("a change of its driver is not finished: bring the driver to a release first")
    if node.holders:
        reasons.append(f"cards are in use: end {'; '.join(map(str, node.holders))}")
    return [reason for reason in reasons if reason]


def _not_accepted(release: Release, generation: str) -> str:
    known = release.firmware.get(generation)
    hint = (
        f"the vendor's recipe for {release.version} flashes {known}" if known else f"none is known of {release.version}"
    )
    return f"no target is accepted for {generation}: name it in full, accept: {{{generation}: <SPI version>}} ({hint})"


def _boot_firmware(node: FirmwareNode, cards: Sequence[FlashCard], target: Spi) -> str | None:
    """What the boot firmware on the cards, and that of the loaded driver's release, has against the target."""
    if node.driver is None:
        return None
    boots = sorted({card.fit for card in cards if card.fit})
    obstacle = firmware_obstacle(cards[0].generation, [str(target)], boots, node.driver)
    return obstacle.rstrip(".") if obstacle else None


def _image(node: FirmwareNode, target: Spi, generation: str) -> str | None:
    if node.found is None:
        return (
            f"{node.image} is not there: install habanalabs-firmware of the release that has {target}, or name an image"
        )
    return image_refusal(node.found, target, generation, node.image)


def _protection(node: FirmwareNode) -> str | None:
    if node.protection == PROTECTED:
        return "the write protection of the cards' flash is on: switch it off in the BMC"
    if node.protection == UNKNOWN:
        return "write_protection_command does not report whether the cards' flash is protected (neither exit 0 nor 1)"
    return None


def plan(options: FirmwareOptions, node: FirmwareNode, target: Spi | None) -> list[Step]:
    """The steps from ``node`` to the target, in order; also what an interrupted run has left to do."""
    addresses = tuple(card.pci_address for card in to_write(options, node, target))
    if not addresses:
        missing = tuple(name for name in node.record.modules if name not in node.loaded)
        steps = [Step("load", missing), Step("ports"), Step("verify")] if missing else []
        return [step for step in steps if step.action != "ports" or node.ports]
    everywhere = tuple(card.pci_address for card in node.cards)
    unload_order = node.driver.unload_order if node.driver else tuple(reversed(node.loaded))
    steps = [
        Step("unload", tuple(name for name in unload_order if name in node.loaded)),
        # Without a driver it is the tool itself that has told the versions.
        Step("compare", everywhere if DRIVER_MODULE in node.loaded else ()),
        Step("flash", addresses),
        Step("check", everywhere),
        Step("load", node.reload),
    ]
    tail = [Step("ports"), Step("verify")] if node.ports else [Step("verify")]
    return [step for step in steps if step.names] + (tail if node.reload else [])


def warnings(options: FirmwareOptions, node: FirmwareNode, target: Spi | None) -> list[str]:
    """What an operator should know although nothing failed."""
    found = []
    if node.record.interrupted:
        found.append("A firmware run did not finish here; the cards show what is left to do.")
    needs = verdicts(options, node, target)
    waiting = [str(card) for card in node.cards if needs[card.pci_address] == POWER_CYCLE]
    if waiting:
        found.append(waiting_sentence(waiting, str(target), any(_booted(node, card) for card in node.cards)))
    if target is not None and FLASH in needs.values() and node.found == ():
        found.append(f"{node.image} does not contain its version; only the cards show it after it is written.")
    return found


def waiting_sentence(cards: Sequence[str], target: str, booted: bool) -> str:
    """That cards wait for their power cycle."""
    remedy = (
        "a reboot was not enough; power cycle the node, and set flash_again if it was" if booted else "power cycle it"
    )
    return f"{', '.join(cards)} was written to {target} and still shows its old version: {remedy}."


def _booted(node: FirmwareNode, card: FlashCard) -> bool:
    written = node.record.of(card)
    return written is not None and written.boot_id != node.boot_id


def describe(node: FirmwareNode, after: Mapping[str, str] | None = None) -> str:
    """The cards' firmware as text, for ``--diff``; ``after`` maps PCI addresses to what they will show."""
    return "".join(f"{card}: {(after or {}).get(card.pci_address, str(card.have))}\n" for card in node.cards)


def is_outstanding(options: FirmwareOptions, node: FirmwareNode, target: Spi | None) -> bool:
    """Whether there is a target and something to do, or to refuse, on the way to it."""
    needs = set(verdicts(options, node, target).values())
    return target is not None and (
        bool(needs & {FLASH, UNREADABLE, POWER_CYCLE}) or node.writing or node.record.interrupted
    )
