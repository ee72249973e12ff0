# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The power limit of a node's cards, brought to what is wanted and read again: who did not take it is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._cards.accel_sysfs import accel_devices
from .._errors import GaudiError
from .._node.commands import CommandResult, Run, last_line
from .cards import read_cards, read_limits, set_limit
from .plan import PowerCard, PowerOptions, chosen, plan, require_meant


def converge(
    options: PowerOptions, run: Run, check_mode: bool, kernel_root: str = "/", proc: str = "/proc"
) -> dict[str, object]:
    """Set what differs. Raises GaudiError, with the cards as they are then, where one did not take it."""
    require_meant(options)
    before = chosen(options, read_cards(run, kernel_root, proc))
    due = [card.pci_address for card in plan(options, before)]
    shown = {card.pci_address: card.limit for card in before if card.limit is not None}
    said: dict[str, CommandResult] = {}
    if check_mode:
        shown.update(dict.fromkeys(due, options.watts))
    elif due:
        # One after the other: what one card does to hl-smi is then said of that card.
        said = {address: set_limit(run, address, options.watts) for address in due}
        shown = _read_again(run, kernel_root)
    rows = [_row(card, shown.get(card.pci_address), options.watts) for card in before]
    result: dict[str, object] = {"diff": _diff(before, rows), "watts": options.watts, "cards": rows}
    clauses = [_clause(card, row, said) for card, row in zip(before, rows) if not row["taken"]]
    if clauses:
        message = refusal(options.watts, clauses, len(rows), check_mode)
        raise GaudiError(message, changed=_is_changed(rows), **result)
    return {"changed": bool(due), **result}


def refusal(watts: int, clauses: Sequence[str], count: int, check_mode: bool) -> str:
    """The sentence about those of ``count`` cards that have another limit than ``watts``, a clause each."""
    verb, others = ("would not accept", "would") if check_mode else ("did not accept", "have it")
    rest = f"; the others {others}" if len(clauses) < count else ""
    return (
        f"{len(clauses)} of {count} cards {verb} {watts} W: {'; '.join(clauses)}{rest}. Look at `hl-smi -q -d POWER` "
        "and `dmesg`, or leave them out by cards (gaudi_power_cards)."
    )


def _read_again(run: Run, kernel_root: str) -> dict[str, int]:
    try:
        return read_limits(run, accel_devices(kernel_root), kernel_root)
    except GaudiError:
        # hl-smi hangs now: no card tells a limit, and what it said to each is told.
        return {}


def _clause(card: PowerCard, row: Mapping[str, object], said: Mapping[str, CommandResult]) -> str:
    shows = f"{card} reports no limit" if row["after"] is None else f"{card} shows {row['after']} W"
    done = said.get(card.pci_address)
    if done is None:
        return shows
    answer = last_line(done.stderr or done.stdout, "nothing").rstrip(".")
    return f"{shows} (hl-smi said: {answer})"


def _row(card: PowerCard, after: int | None, watts: int) -> dict[str, object]:
    return {
        "pci_address": card.pci_address,
        "module_id": card.module_id,
        "generation": card.generation.name if card.generation else None,
        "before": card.limit,
        "after": after,
        "taken": after == watts,
    }


def _is_changed(rows: Sequence[Mapping[str, object]]) -> bool:
    return any(row["before"] != row["after"] for row in rows)


def _diff(before: Sequence[PowerCard], rows: Sequence[Mapping[str, object]]) -> list[dict[str, str]]:
    texts = {
        name: "".join(f"{card}: {row[name]} W\n" for card, row in zip(before, rows)) for name in ("before", "after")
    }
    header = "power limit of the cards"
    return [{"before_header": header, "after_header": header, **texts}] if _is_changed(rows) else []
