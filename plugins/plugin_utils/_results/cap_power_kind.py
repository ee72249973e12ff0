# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Power limits of all nodes' cards before and after, and which cards did not take theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.card_names import card_names

CAPPED = "gaudi_power_result"
OK, FORESEEN, NOT_TAKEN, NOT_SET, UNREACHABLE = "ok", "would be set", "not taken", "not set", "unreachable"
COLUMNS = ("node", "card", "before", "after", "state")


def cap_power_kind(asked: Asked) -> Made:
    """A row for the equal cards of a node; reasons have a sentence for each node of which not all cards took it."""
    results = asked.results(CAPPED)
    answers = {host: results.get(host, {}) for host in asked.hosts}
    states = {host: _state(answer) for host, answer in answers.items()}
    reasons = {host: _reason(answer, asked.why_nothing(host)) for host, answer in answers.items() if states[host] != OK}
    # An inventory may have another limit for some nodes.
    watts = sorted({str(answer["watts"]) for answer in answers.values() if "watts" in answer})
    wanted = f": {', '.join(watts)} W" if watts else ""
    untouched = " (check mode: nothing was changed)" if asked.check_mode else ""
    cards = [card for answer in answers.values() for card in answer.get("cards") or ()]
    return Made(
        {
            "title": f"Power limit of the cards{wanted}{untouched}",
            "columns": COLUMNS,
            "rows": [row for host in asked.hosts for row in _rows(host, answers[host], states[host], asked.check_mode)],
            "notes": [*_together(reasons), "W on a card's 54 V rail; whether a limit survives a reboot is unverified"],
            "data": {
                "nodes": {host: {"state": states[host], "cards": answers[host].get("cards", [])} for host in states}
            },
        },
        {
            "nodes": states,
            "good": [OK],
            "numbers": {
                "watts": watts[0] if len(watts) == 1 else None,
                "cards": len(cards),
                "not_taken": sum(not card["taken"] for card in cards),
            },
        },
        reasons=reasons,
    )


def _state(answer: Mapping[str, Any]) -> str:
    if not answer or answer.get("unreachable"):
        return UNREACHABLE
    if "msg" not in answer:
        return OK
    return NOT_TAKEN if "cards" in answer else NOT_SET


def _reason(answer: Mapping[str, Any], why_nothing: str) -> str:
    return str(answer.get("msg") or f"It has no result: {why_nothing}")


def _rows(host: str, answer: Mapping[str, Any], state: str, check_mode: bool) -> list[dict[str, Any]]:
    groups: dict[tuple[Any, ...], list[int]] = {}
    for card in answer.get("cards") or ():
        # One that no driver has is known by its address alone.
        number = card["module_id"]
        key = (None if number is not None else card["pci_address"], card["before"], card["after"], card["taken"])
        groups.setdefault(key, []).extend([] if number is None else [number])
    if not groups:
        return [{"node": host, "state": state}]
    return [
        {
            "node": host,
            "card": address or card_names(modules),
            "before": _watts(before),
            "after": _watts(after),
            "state": _of_cards(before, after, taken, check_mode),
        }
        for (address, before, after, taken), modules in groups.items()
    ]


def _of_cards(before: int | None, after: int | None, taken: bool, check_mode: bool) -> str:
    if not taken:
        return NOT_TAKEN
    return FORESEEN if check_mode and before != after else OK


def _watts(limit: int | None) -> str | None:
    return None if limit is None else f"{limit} W"


def _together(reasons: Mapping[str, str]) -> Iterable[str]:
    """A sentence for all nodes that say the same, as they do to a limit that no card takes."""
    hosts: dict[str, list[str]] = {}
    for host, reason in reasons.items():
        hosts.setdefault(reason, []).append(host)
    return (f"{', '.join(named)}: {reason}" for reason, named in hosts.items())


KIND = Kind((CAPPED,), cap_power_kind)
