# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The firmware of a node's cards: shown, or brought to what was accepted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Mapping, Sequence

from .._errors import GaudiError
from .._node.commands import Run
from .._node.lock import exclusive
from .._node.programs import Installed, is_installed
from .._node.steps import Step
from .._releases.lookup import Release, find_release
from .flash import StepContext, take_all
from .node import read_node
from .plan import (
    FLASHED,
    FirmwareNode,
    FirmwareOptions,
    describe,
    generation_of_node,
    is_outstanding,
    plan,
    refusals,
    target_of,
    verdicts,
    warnings,
)
from .record import Record, at_rest, keep, read_record, with_logs
from .spi import POWER_CYCLE, Spi, accepted_targets, are_equal


def converge(
    options: FirmwareOptions, run: Run, check_mode: bool, root: str = "/", installed: Installed = is_installed
) -> dict[str, Any]:
    """Show, or bring the cards to what was accepted; the result's keys are always the same."""
    if options.state != FLASHED or check_mode:
        return _converge(options, run, check_mode, root, installed)
    # The driver's own lock: neither may change the modules under the other.
    with exclusive("driver", options.lock_timeout, root):
        return _converge(options, run, check_mode, root, installed)


def _converge(
    options: FirmwareOptions, run: Run, check_mode: bool, root: str, installed: Installed
) -> dict[str, object]:
    release = find_release(options.release, options.release_overrides)
    targets = accepted_targets(options.accept)
    record, notes = _record(options, root)
    node = read_node(options, release, targets, record, run, root, installed)
    target = target_of(node, targets)
    reasons = refusals(options, release, node, target) if options.state == FLASHED else []
    if reasons:
        raise GaudiError(f"The firmware of the cards is left alone: {'; '.join(reasons)}.", reasons=reasons)
    steps = plan(options, node, target) if options.state == FLASHED else []
    after = node
    if steps and target is not None and not check_mode:
        after = take_all(steps, StepContext(options, node, target, run, node.record, root))
    elif options.state == FLASHED and record.interrupted and not steps and not check_mode:
        keep(at_rest(record, node.cards), root)
    notes += warnings(options, after, target)
    return _result(options, release, node, after, target, steps, notes, check_mode)


def _record(options: FirmwareOptions, root: str) -> tuple[Record, list[str]]:
    """The record, and a warning instead of an error for one that only has to be shown beside the cards."""
    try:
        return with_logs(read_record(root)), []
    except GaudiError as error:
        if options.state == FLASHED:
            raise
        return Record(), [str(error)]


def _cards_of(
    options: FirmwareOptions, before: FirmwareNode, after: FirmwareNode, target: Spi | None
) -> Mapping[str, object]:
    """The cards as a module returns them."""
    needs = verdicts(options, before, target)
    ends = verdicts(replace(options, flash_again=False), after, target)
    shows = {card.pci_address: str(card.have) for card in after.cards}
    rows = [
        {
            "pci_address": card.pci_address,
            "module_id": card.module_id,
            "serial": card.serial,
            "board": card.board,
            "before": str(card.have),
            "after": shows.get(card.pci_address, "gone"),
            "needed": needs[card.pci_address],
            "verdict": ends.get(card.pci_address, "gone"),
        }
        for card in before.cards
    ]
    return {"cards": rows, "generation": generation_of_node(before), "target": None if target is None else str(target)}


def _result(
    options: FirmwareOptions,
    release: Release,
    before: FirmwareNode,
    after: FirmwareNode,
    target: Spi | None,
    steps: Sequence[Step],
    notes: Sequence[str],
    check_mode: bool,
) -> dict[str, object]:
    waiting = [
        a for a, word in verdicts(replace(options, flash_again=False), after, target).items() if word == POWER_CYCLE
    ]
    planned = {name: str(target) for step in steps if step.action == "flash" for name in step.names}
    texts = {"before": describe(before), "after": describe(before, planned) if check_mode else describe(after)}
    changed_text = texts["before"] != texts["after"]
    return {
        "changed": bool(steps),
        "diff": [{"before_header": "card firmware", "after_header": "card firmware", **texts}] if changed_text else [],
        **_cards_of(options, before, after, target),
        "equal": are_equal(after.cards),
        "outstanding": is_outstanding(options, after, target),
        "published": release.firmware.get(generation_of_node(before) or ""),
        "steps": [str(step) for step in steps],
        "written": [] if check_mode else sorted(planned),
        "power_cycle_needed": waiting,
        "interrupted": before.record.interrupted,
        "warnings": list(notes),
    }
