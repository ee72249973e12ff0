# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The lines of the firmware table: a line for the equal cards of a node, a line for a node that told nothing."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from ansible_collections.gaudi3.scale.plugins.module_utils._firmware.spi import FLASH, POWER_CYCLE, UNREADABLE
from ansible_collections.gaudi3.scale.plugins.plugin_utils._firmware.rounds import rack_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.card_names import card_names

# What the role gaudi_firmware registers on a host: what was shown first, what was seen last, and how it ended.
BEFORE = "gaudi_firmware_shown_result"
RESULT = "gaudi_firmware_result"
OUTCOME = "gaudi_firmware_outcome_result"
# The state of a node in check mode.
FORESEEN = "would be written"


def firmware_rows(hosts: Iterable[Mapping[str, Any]]) -> list[dict[str, object]]:
    """Rows of these hosts' variables; ``reason`` is a sentence where something is wrong, else None."""
    return [row for host in hosts for row in _rows(host)]


def _rows(host: Mapping[str, Any]) -> list[dict[str, object]]:
    node = {"node": host["inventory_hostname"], "rack": rack_of(host) or None}
    before = _result(host, BEFORE)
    state, reason = _state(host, before)
    named = reason and f"{node['node']}: {reason}"
    cards = before.get("cards") or []
    if not cards:
        unknown = dict.fromkeys(("cards", "board", "before", "after", "published"))
        return [{**node, **unknown, "state": state, "reason": named}]
    after = _after(host, state)
    groups: dict[tuple[object, ...], list[Any]] = {}
    for card in cards:
        now = after.get(card["pci_address"], {})
        shows = before.get("target") if state == FORESEEN and now.get("needed") == FLASH else now.get("after")
        key = (card.get("board"), card.get("before"), shows, now.get("verdict"))
        groups.setdefault(key, []).append(card.get("module_id"))
    return [
        {
            **node,
            "cards": card_names(modules),
            "board": board,
            "before": shown,
            "after": now,
            "published": before.get("published"),
            "state": verdict if verdict in (POWER_CYCLE, UNREADABLE) else state,
            "reason": named,
        }
        for (board, shown, now, verdict), modules in groups.items()
    ]


def _result(host: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = host.get(name)
    return value if isinstance(value, Mapping) else {}


def _state(host: Mapping[str, Any], before: Mapping[str, Any]) -> tuple[str, str | None]:
    """The node's state in a word or two, and why."""
    outcome = _result(host, OUTCOME)
    # A task that was skipped registers something, too.
    if "state" in outcome:
        return str(outcome["state"]), outcome.get("reason") or None
    if before.get("unreachable") or not before:
        return "unreachable", str(before.get("msg") or "it did not respond.")
    if before.get("failed"):
        return "not shown", str(before.get("msg"))
    needs = {card.get("needed") for card in before.get("cards") or []}
    if before.get("target") is None:
        return "shown", None
    return ("not reached", None) if FLASH in needs else ("unchanged", None)


def _after(host: Mapping[str, Any], state: str) -> Mapping[str, Mapping[str, Any]]:
    """The cards as they were seen last; nothing where a run broke off and nobody has looked since."""
    last = _result(host, RESULT)
    cards = last.get("cards") or ([] if state in ("failed", "unreachable") else _result(host, BEFORE).get("cards"))
    return {card["pci_address"]: card for card in cards or []}
