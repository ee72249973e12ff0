# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Writing the accepted firmware to a node's cards, and what it led to.

The tool runs in a systemd unit of its own: a cut SSH connection, an ended play and our own time limit leave it alone,
since a card with half an image in its flash may not start again. Order of the steps: docs.habana.ai Firmware_Upgrade.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable, Iterator, Sequence

from .._cards.accel_sysfs import accel_devices
from .._errors import GaudiError
from .._fabric.ports import UNIT as PORTS_UNIT
from .._node import kernel_modules, systemd_units
from .._node.commands import Run, last_line
from .._node.rendered_files import read_text
from .._node.steps import Effects, Step, take
from .._node.unit_hardening import VENDORS_CAPABILITIES, VENDORS_TOOL, capability_lines
from . import record as card_firmware_record
from .node import FLASH_UNIT, TOOL, read_cards, spi_of_tool
from .plan import FirmwareNode, FirmwareOptions
from .record import Note, Record, says_done
from .spi import FAILED, WRITING, WRITTEN, FlashCard, Spi, Unreadable, parse_spi

LOGS = "var/log/gaudi3_scale"
POLL_S = 3.0
_OPERATIONAL = "Operational"
# systemd must not end the tool either: an orderly shutdown waits for it, and the signal it would send does nothing.
# What a foreign tool misses while it writes leaves a card without firmware: only what nobody needs for that, or misses
# before the first byte, is kept from it. The card's registers, PCI's files and the kernel's log are not.
_UNIT_PROPERTIES = ("KillSignal=SIGCONT", "SendSIGKILL=no", "TimeoutStopSec=infinity", "RuntimeMaxSec=infinity")
CONFINED = (*VENDORS_TOOL, "IPAddressDeny=any", *capability_lines(VENDORS_CAPABILITIES))


@dataclass
class StepContext:
    """What the steps work with; ``record`` is what is kept of the cards by now."""

    options: FirmwareOptions
    node: FirmwareNode
    target: Spi
    run: Run
    record: Record
    root: str = "/"
    sleep: Callable[[float], None] = time.sleep


def take_all(steps: Sequence[Step], context: StepContext) -> FirmwareNode:
    """Take the steps; the node as it is then."""
    context.record = card_firmware_record.keep(replace(context.record, modules=context.node.reload), context.root)
    for step in steps:
        take(step, EFFECTS, context)
    cards = read_cards(context.run, context.options.kernel_root)
    context.record = card_firmware_record.keep(card_firmware_record.at_rest(context.record, cards), context.root)
    _require_expected(cards, context)
    return replace(context.node, cards=cards, record=context.record)


def _unload(step: Step, context: StepContext) -> None:
    with _nothing_written(context):
        for name in step.names:
            kernel_modules.unload(name, context.run)


def _compare(step: Step, context: StepContext) -> None:
    """The tool has to find each card by the name that it is to be written by, with the version that was planned on."""
    with _nothing_written(context):
        for card, text in _unlike(step, context):
            raise GaudiError(
                f"`{TOOL} -s -d {card.pci_address}` shows {text or 'nothing'} for {card}, which showed {card.have} "
                "before its driver was unloaded."
            )


@contextmanager
def _nothing_written(context: StepContext) -> Iterator[None]:
    """Before the first card is written: what fails there loads the driver again where it was loaded."""
    try:
        yield
    except GaudiError as error:
        # Over cards that an earlier run could not finish the driver is not loaded.
        if kernel_modules.DRIVER_MODULE in context.node.loaded:
            _load(Step("load", tuple(context.node.reload)), context)
            if context.node.ports:
                systemd_units.restart(context.run, PORTS_UNIT)
            card_firmware_record.keep(replace(context.record, modules=()), context.root)
        raise GaudiError(f"{error} No card was written.", **error.facts) from error


def _load(step: Step, context: StepContext) -> None:
    for name in step.names:
        kernel_modules.load(name, context.run)


def _ports(_step: Step, context: StepContext) -> None:
    systemd_units.restart(context.run, PORTS_UNIT)


def _unlike(step: Step, context: StepContext) -> Iterator[tuple[FlashCard, str | None]]:
    """Cards of which the tool shows neither what they had nor what was written to them, with what it shows.

    UNVERIFIED: whether it shows what a card has started from, or what is in its flash by now. Both are right here.
    """
    for card in context.node.cards:
        if card.pci_address in step.names:
            text = spi_of_tool(card.pci_address, context.run)
            written = context.record.of(card)
            if parse_spi(text) not in (card.have, context.target, parse_spi(written.target if written else None)):
                yield card, text


def _flash(step: Step, context: StepContext) -> None:
    for card in context.node.cards:
        if card.pci_address in step.names:
            _flash_one(card, context)


def _flash_one(card: FlashCard, context: StepContext) -> None:
    """Write one card; after the first that fails no other is touched, and the driver is not loaded over it."""
    log = Path(context.root, LOGS, f"firmware-{card.pci_address}-{time.strftime('%Y%m%dT%H%M%S')}.log")
    note = Note(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), context.node.boot_id, str(log))

    def noted(state: str) -> None:
        marked = card_firmware_record.with_card(context.record, card, context.target, state, note)
        context.record = card_firmware_record.keep(marked, context.root)

    noted(WRITING)
    log.parent.mkdir(parents=True, exist_ok=True)
    done = context.run(
        flash_command(card.pci_address, context.node.image, str(log)), timeout=context.options.flash_timeout
    )
    said = read_text(str(log)) or ""
    if done.rc == 124:
        raise GaudiError(
            f"{card} is still being written after {context.options.flash_timeout:g} s, by the unit {FLASH_UNIT}, which "
            "continues: keep the power on, wait until it has ended, and run again.",
            log=str(log),
        )
    # Its exit codes are not published: it has to say that it finished, or the card has to show it.
    if done.rc == 0 and (says_done(said) or parse_spi(spi_of_tool(card.pci_address, context.run)) == context.target):
        noted(WRITTEN)
        return
    noted(FAILED)
    reason = last_line(said or done.stderr or done.stdout)
    raise GaudiError(
        f"{TOOL} did not finish with {card} (exit {done.rc}: {reason}); no other card was touched after it, and the "
        "modules stay unloaded: keep the node powered on and do not reboot it, see the log, then run again.",
        log=str(log),
        exit=done.rc,
    )


def flash_command(address: str, image: str, log: str) -> list[str]:
    """``hl-fw-loader -y`` for one card, in a unit that outlives whoever started it and that nothing ends."""
    properties = [f"--property={text}" for text in (*_UNIT_PROPERTIES, *CONFINED, f"StandardOutput=append:{log}")]
    unit = ["systemd-run", "--quiet", "--wait", "--collect", f"--unit={FLASH_UNIT}", *properties]
    return [*unit, "--property=StandardError=inherit", TOOL, "-y", "-d", address, "-f", image]


def _check(step: Step, context: StepContext) -> None:
    """Every card has to show its old version or the target while the modules are still unloaded."""
    for card, text in _unlike(step, context):
        raise GaudiError(
            f"{card} shows {text or 'nothing'} after it was written, neither its old version nor {context.target}; the "
            "modules stay unloaded: keep the node powered on and do not reboot it, and see what "
            f"`{TOOL} -s -d {card.pci_address}` says."
        )


def _wait_for_cards(_step: Step, context: StepContext) -> None:
    """Wait until as many cards are operational as there were; the verification names what is missing."""
    deadline = time.monotonic() + context.options.settle_timeout
    while _operational(context) < len(context.node.cards) and time.monotonic() < deadline:
        context.sleep(POLL_S)


def _operational(context: StepContext) -> int:
    return sum(device.status == _OPERATIONAL for device in accel_devices(context.options.kernel_root))


def _require_expected(cards: Sequence[FlashCard], context: StepContext) -> None:
    """After all of it a card shows the target, or waits for its power cycle; anything else is a failure."""
    wrong = [f"{card} shows {card.have}" for card in cards if not _is_expected(card, context)]
    gone = {card.pci_address for card in context.node.cards} - {card.pci_address for card in cards}
    wrong += [f"the card {address} is gone" for address in sorted(gone)]
    up = _operational(context)
    if context.node.reload and up < len(context.node.cards):
        wrong.append(f"{up} of {len(context.node.cards)} cards are operational")
    if wrong:
        raise GaudiError(f"The firmware was written, but it is not {context.target} everywhere: {'; '.join(wrong)}.")


def _is_expected(card: FlashCard, context: StepContext) -> bool:
    written = context.record.of(card)
    return card.have == context.target or (
        not isinstance(card.have, Unreadable) and written is not None and written.state == WRITTEN
    )


EFFECTS: Effects[StepContext] = {
    "unload": _unload,
    "compare": _compare,
    "flash": _flash,
    "check": _check,
    "load": _load,
    "ports": _ports,
    "verify": _wait_for_cards,
}
