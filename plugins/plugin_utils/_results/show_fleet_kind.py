# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The fleet on one page, from what each node's collector told last: who is not well first, with what to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.node_troubles import (
    NodeTold,
    node_told,
    troubles,
)

TOLD = "gaudi_exporter_show_result"
OK, FAILED, UNREADABLE, UNMONITORED, UNREACHABLE = "ok", "failed", "unreadable", "not monitored", "unreachable"
COLUMNS = ("node", "state", "cards", "°C", "W", "busy", "ports", "driver", "training", "step", "tokens/s")
_ORDER = (FAILED, UNREADABLE, UNREACHABLE, UNMONITORED, OK)


def show_fleet_kind(asked: Asked) -> Made:
    """One row a node; notes have a sentence with the remedy for each that is not well."""
    told, refused = _told(asked)
    nodes = {host: told.get(host, NodeTold(host)) for host in asked.hosts}
    wrong = {host: [refused[host]] if host in refused else troubles(node) for host, node in nodes.items()}
    states = {host: UNREADABLE if host in refused else _state(told.get(host), wrong[host]) for host in nodes}
    ordered = sorted(nodes, key=lambda host: _ORDER.index(states[host]))
    counts = {state: sum(one == state for one in states.values()) for state in _ORDER}
    watts = {host: node.values("gaudi_card_power_watts") for host, node in nodes.items()}
    most = max(map(len, watts.values()), default=0)
    reasons = {host: "; ".join(said) for host, said in wrong.items() if said}
    return Made(
        {
            "title": "Fleet: " + ", ".join(f"{count} {state}" for state, count in counts.items() if count),
            "columns": COLUMNS,
            "rows": [_row(nodes[host], states[host]) for host in ordered],
            "notes": [*(f"{host}: {reasons[host]}" for host in ordered if host in reasons), *_legend(counts)],
            "bars": [_power(watts, ordered, most)] if most else [],
            "data": {"nodes": {host: {"state": states[host], "troubles": wrong[host]} for host in ordered}},
        },
        {
            "nodes": states,
            "good": [OK],
            "ok": counts[OK] == len(nodes),
            "numbers": {"watts": sum(map(sum, watts.values())), "cards": sum(map(len, watts.values()))},
        },
        reasons=reasons,
    )


def _told(asked: Asked) -> tuple[dict[str, NodeTold], dict[str, str]]:
    """What each node that answered has told, and why the answer of another cannot be used."""
    told, refused = {}, {}
    for host, answer in asked.results(TOLD).items():
        if answer.get("unreachable") or "samples" not in answer:
            continue
        try:
            told[host] = node_told(host, answer)
        except GaudiError as error:
            refused[host] = str(error)
    return told, refused


def _state(node: NodeTold | None, wrong: Sequence[str]) -> str:
    if node is None:
        return UNREACHABLE
    if not node.samples:
        return UNMONITORED
    return FAILED if wrong else OK


def _row(node: NodeTold, state: str) -> dict[str, Any]:
    if state in (UNREADABLE, UNREACHABLE, UNMONITORED):
        return {"node": node.host, "state": state}
    ports, busy = node.values("gaudi_port_up"), node.values("gaudi_card_utilization_ratio")
    celsius = node.values("gaudi_card_temperature_celsius")
    works = sum(node.values("gaudi_card_operational"))
    driver = next((labels.get("release") for labels, _one in node.of("gaudi_node_driver_info")), None)
    trainings = [str(labels.get("training")) for labels, runs in node.of("gaudi_job_running") if runs]
    name = trainings[0] if trainings else ""
    step, tokens = (node.first(f"gaudi_job_{what}", training=name) for what in ("step", "tokens_per_second"))
    return {
        "node": node.host,
        "state": state,
        "cards": f"{works:.0f}/{node.first('gaudi_cards_expected') or 0:.0f}",
        "°C": f"{max(celsius):.0f}" if celsius else None,
        "W": f"{sum(node.values('gaudi_card_power_watts')):,.0f}",
        "busy": f"{sum(busy) / len(busy):.0%}" if busy else None,
        "ports": f"{sum(ports):.0f}/{len(ports)}" if ports else None,
        "driver": driver,
        "training": ", ".join(trainings) or None,
        "step": None if step is None else f"{step:,.0f}",
        "tokens/s": None if tokens is None else quantity(tokens),
    }


def _power(watts: Mapping[str, Sequence[float]], ordered: Sequence[str], most: int) -> dict[str, Any]:
    amounts = [
        {"label": host, "parts": [*watts[host]], "text": f"{sum(watts[host]):,.0f} W"}
        for host in ordered
        if watts[host]
    ]
    parts = [f"card {number}" for number in range(most)]
    return {"title": "Power of the cards", "x_label": "W, on the 54 V rail", "parts": parts, "amounts": amounts}


def _legend(counts: Mapping[str, int]) -> Iterator[str]:
    yield "last reported metrics; °C is the hottest card, busy the mean of all cards"
    if counts[UNMONITORED]:
        yield "not monitored: gaudi3.scale.monitoring has not been run there"


KIND = Kind((TOLD,), show_fleet_kind)
