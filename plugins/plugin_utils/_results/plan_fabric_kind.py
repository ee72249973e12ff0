# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The fabric as a report: the plan of addresses, who hangs where, and what the switches' side has to be given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import (
    Board,
    Generation,
    board_of,
    generation_named,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.layer3.address_plan import (
    PortAddress,
    Slot,
    make_plan,
    slots_of,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.layer3.cabling import (
    OK,
    Cable,
    HeardPort,
    judge,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    Kind,
    maybe,
    record,
    said,
    several,
    taken,
    truth,
    whole,
    word,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Kind as Report

INFO = "gaudi_fabric_plan_result"
# More lines than a person reads on a screen; the page and the JSON have all.
MOST_ON_SCREEN, MOST_SENTENCES = 100, 30
_MOST_PORTS = 1024
_PORT = record(
    {"interface": word, "module_id": maybe(whole(most=255)), "number": maybe(whole(most=255)), "link": truth},
    {"addresses": several(word, 64)},
)
_NEIGHBOR = record({"interface": word, "switch": said, "port": said, "description": said})
ANSWER: Kind = record(
    {
        "boards": several(word, 64),
        "ports": several(_PORT, _MOST_PORTS),
        "neighbors": several(_NEIGHBOR, _MOST_PORTS),
        "lldp_error": said,
    }
)
CABLES, CHECKLIST = "Cables", "For the switches"
CABLE_COLUMNS = ("node", "card", "port", "interface", "switch", "switch port", "announces", "verdict")
CHECKLIST_COLUMNS = (
    "node", "card", "port", "address", "switch", "switch port", "switch address", "MTU at least", "PFC", "description",
)  # fmt: skip


def plan_fabric_kind(asked: Asked) -> Made:
    """What was planned and heard. Raises GaudiError for pools or hosts that make no plan."""
    answers, silent = _answers(asked)
    plan = _plan(asked.given, answers)
    heard = {host: one for host, one in answers.items() if not one["lldp_error"]}
    silent |= {host: one["lldp_error"] for host, one in answers.items() if one["lldp_error"]}
    cables = judge([port for host, one in heard.items() for port in _ports(host, one)], plan)
    rows = [_node_row(host, cables, silent, asked.results(INFO)) for host in asked.hosts]
    sentences = list(dict.fromkeys(cable.why for cable in cables if cable.why))
    return Made(
        {
            "title": "The fabric between the cards (nothing was changed)",
            "columns": ["node", "links", "neighbors", "switches", "verdict"],
            "rows": rows,
            "notes": [*_shortened(sentences), *(f"{host}: {why}" for host, why in silent.items()), *_legend(plan)],
            "sections": _sections(asked.given, plan, cables),
            "data": {
                "plan": {host: [one._asdict() for one in ports] for host, ports in plan.items()},
                "findings": sentences,
            },
        },
        {
            "nodes": {str(row["node"]): row["state"] for row in rows},
            "ok": bool(heard) and not sentences and not silent,
            "numbers": {"planned_ports": sum(map(len, plan.values())), "wrong_cables": sum(map(_is_wrong, cables))},
        },
        refusal="" if answers or plan else _nothing(silent),
    )


def _answers(asked: Asked) -> tuple[dict[str, Any], dict[str, str]]:
    """What each node said, and why another said nothing that can be used."""
    answers, silent = {}, {}
    results = asked.results(INFO)
    for host in asked.hosts:
        result = results.get(host, {"msg": "it was not inspected"})
        if result.get("failed") or result.get("unreachable") or "ports" not in result:
            why = str(result.get("msg") or "no reason given").strip().partition("\n")[0]
            silent[host] = f"unreachable: {why}" if result.get("unreachable") else why
            continue
        try:
            answers[host] = taken(host, "hpu_fabric_info", ANSWER, result)
        except GaudiError as error:
            silent[host] = str(error)
    return answers, silent


def _plan(given: Mapping[str, Any], answers: Mapping[str, Any]) -> dict[str, Sequence[PortAddress]]:
    """The addresses of all hosts of the list, whether or not they answer. Nothing where no pool is given."""
    if not given["pools"]:
        return {}
    default = slots_of(_default_board(given))
    slots = {host: _slots_of_node(answers.get(host), default) for host in given["hosts"]}
    counts = {len(one) for one in slots.values()}
    if len(counts) > 1:
        named = ", ".join(f"{host} has {len(one)} ports" for host, one in list(slots.items())[:8])
        raise GaudiError(f"gaudi_fabric_hosts names servers of several kinds ({named}); plan each kind with its pools.")
    plans = {places: make_plan(given["hosts"], places, given["pools"]) for places in set(slots.values()) or {default}}
    return {host: plans[slots[host]].of(host) for host in given["hosts"]}


def _slots_of_node(answer: Mapping[str, Any] | None, default: tuple[Slot, ...]) -> tuple[Slot, ...]:
    boards = [board for board in map(board_of, answer["boards"] if answer else ()) if board]
    found = {slots_of(board) for board in boards} - {()}
    return sorted(found)[0] if found else default


def _default_board(given: Mapping[str, Any]) -> Board:
    generation: Generation | None = generation_named(str(given["generation"]))
    if generation is None:
        raise GaudiError(f"gaudi_fabric_generation is {given['generation']!r:.60}; give gaudi2 or gaudi3.")
    return generation.boards[0]


def _ports(host: str, answer: Mapping[str, Any]) -> list[HeardPort]:
    counts = Counter(one["interface"] for one in answer["neighbors"])
    neighbors = {one["interface"]: one for one in answer["neighbors"]}
    found = []
    for port in answer["ports"]:
        if port["module_id"] is None or port["number"] is None:
            continue
        name = port["interface"]
        one = neighbors.get(name, {"switch": "", "port": "", "description": ""})
        found.append(
            HeardPort(
                host, Slot(port["module_id"], port["number"]), name, port["link"], counts[name],
                one["switch"], one["port"], one["description"], tuple(port.get("addresses", ())),
            )
        )  # fmt: skip
    return sorted(found, key=lambda port: port.slot)


def _node_row(
    host: str, cables: Sequence[Cable], silent: Mapping[str, str], results: Mapping[str, Mapping[str, Any]]
) -> dict[str, object]:
    mine = [cable for cable in cables if cable.port.host == host]
    if host in silent:
        state = "unreachable" if results.get(host, {}).get("unreachable") else "failed"
        return {"node": host, "links": None, "neighbors": None, "switches": None, "verdict": state, "state": state}
    counts = Counter(cable.verdict for cable in mine if _is_wrong(cable))
    verdict = "not ok: " + ", ".join(f"{count} {what}" for what, count in counts.items()) if counts else OK
    return {
        "node": host,
        "links": f"{sum(cable.port.link for cable in mine)}/{len(mine)}",
        "neighbors": sum(cable.port.heard > 0 for cable in mine),
        "switches": sorted({cable.port.switch for cable in mine if cable.port.switch}),
        "verdict": verdict if mine else "no ports",
        "state": "ok" if mine and not counts else "failed",
    }


def _sections(
    given: Mapping[str, Any], plan: Mapping[str, Sequence[PortAddress]], cables: Sequence[Cable]
) -> list[dict[str, Any]]:
    heard = {(cable.port.host, cable.port.slot): cable.port for cable in cables}
    checklist = [_checklist_row(given, host, one, heard) for host, ports in plan.items() for one in ports]
    named: tuple[tuple[str, Sequence[str], list[dict[str, object]], list[str]], ...] = (
        (CABLES, CABLE_COLUMNS, list(map(_cable_row, cables)), []),
        (CHECKLIST, CHECKLIST_COLUMNS, checklist, ["switch and switch port are as currently announced by LLDP"]),
    )
    return [
        {
            "title": title,
            "columns": list(columns),
            "rows": rows,
            "notes": notes,
            "on_screen": len(rows) <= MOST_ON_SCREEN,
        }
        for title, columns, rows, notes in named
        if rows
    ]


def _cable_row(cable: Cable) -> dict[str, object]:
    port = cable.port
    return {
        "node": port.host,
        "card": str(port.slot.module_id),
        "port": str(port.slot.port),
        "interface": port.interface,
        "switch": port.switch,
        "switch port": port.switch_port,
        "announces": port.description,
        "verdict": cable.verdict if not _is_wrong(cable) else f"not ok: {cable.verdict}",
    }


def _checklist_row(
    given: Mapping[str, Any], host: str, one: PortAddress, heard: Mapping[tuple[str, Slot], HeardPort]
) -> dict[str, object]:
    port = heard.get((host, one.slot))
    return {
        "node": host,
        "card": str(one.module_id),
        "port": str(one.port),
        "address": f"{one.address}/{one.prefix}",
        "switch": port.switch if port else "",
        "switch port": port.switch_port if port else "",
        "switch address": one.announced,
        "MTU at least": str(given["mtu"]),
        "PFC": ",".join(map(str, given["priorities"])) or "as it is",
        "description": f"no-alert {one.announced}",
    }


def _is_wrong(cable: Cable) -> bool:
    return cable.verdict != OK


def _shortened(sentences: Sequence[str]) -> list[str]:
    more = len(sentences) - MOST_SENTENCES
    return [*sentences[:MOST_SENTENCES], *([f"and {more} more, in the JSON under data"] if more > 0 else [])]


def _legend(plan: Mapping[str, object]) -> list[str]:
    return [] if plan else ["no addresses are planned: gaudi_fabric_pools is empty"]


def _nothing(silent: Mapping[str, str]) -> str:
    host, why = next(iter(silent.items()), ("", ""))
    return f"{host}: {why}" if host else "No host was inspected; see gaudi_hosts and --limit."


KIND = Report((INFO,), plan_fabric_kind)
