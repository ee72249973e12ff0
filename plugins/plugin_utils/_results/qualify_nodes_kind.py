# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A qualification as a report: a line a node with each stage, the pairs as a square, cards beside their median."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import rounded
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.results import (
    FAILED,
    HEALTHY,
    INCONCLUSIVE,
    PASSED,
    UNHEALTHY,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.stages import STAGES
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.hosts_file import hosts_file
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.junit import UNKNOWN, Case

QUALIFIED = "gaudi_qualify_result"
_WORDS = {PASSED: "ok", FAILED: "failed", UNKNOWN: "unknown"}
_CARD_RATES = {"matmul_tflops": "Products of each node's cards", "copy_gb_per_s": "Copies of each node's cards"}


def qualify_nodes_kind(asked: Asked) -> Made:
    """What was measured of all nodes; one task has it for all."""
    result: Mapping[str, Any] = next(iter(asked.results(QUALIFIED).values()), {})
    data = result.get("data")
    if not data:
        said = asked.why_no_result(result, "The nodes were not measured.")
        return Made({"title": "Qualification", "columns": ["node"], "rows": []}, {"ok": False}, refusal=said, cases=[])
    nodes = {host: data["nodes"].get(host) or _absent(asked.why_nothing(host)) for host in asked.hosts}
    shown = [stage for stage in STAGES if any(stage in node["stages"] for node in nodes.values())]
    when = f"Qualified at {data['time']}, level {data['level']}."
    title = f"Qualification, level {data['level']}"
    return Made(
        {
            "title": f"{title} (check mode: nothing was measured)" if asked.check_mode else title,
            "columns": ["node", "verdict", *shown, "action"],
            "rows": [_row(name, node, shown) for name, node in nodes.items()],
            "notes": [*_sentences(nodes), *_links(data), *data["notes"], *_summary(data)],
            "heat_maps": _square(data),
            "intervals": [chart for figure in _CARD_RATES for chart in _cards(figure, nodes)],
            "files": [hosts_file(data["hosts"], data["spares"], data["left_out"], when)] if data["hosts"] else [],
            "data": data,
        },
        {
            "nodes": {name: node["state"] for name, node in nodes.items()},
            "good": [HEALTHY],
            "numbers": {state: sum(node["state"] == state for node in nodes.values()) for state in _STATES},
        },
        reasons={name: " ".join(node["reasons"]) for name, node in nodes.items() if node["state"] == UNHEALTHY},
        cases=_cases(nodes),
    )


_STATES = (HEALTHY, UNHEALTHY, INCONCLUSIVE)


def _absent(why: str) -> dict[str, Any]:
    return {"state": INCONCLUSIVE, "action": "", "reasons": [why], "remarks": [], "stages": {}, "cards": {}}


def _row(name: str, node: Mapping[str, Any], shown: Sequence[str]) -> dict[str, Any]:
    cells = {stage: _cell(node["stages"][stage]) for stage in shown if stage in node["stages"]}
    verdict = {HEALTHY: "ok", UNHEALTHY: "failed"}.get(node["state"], "inconclusive")
    return {"node": name, "verdict": verdict, **cells, "action": node["action"]}


def _cell(stage: Mapping[str, Any]) -> str:
    rate = stage["figures"].get("busbw_gb_per_s")
    told = f": {rounded(rate)} GB/s" if rate else ""
    tokens = stage["figures"].get("tokens_per_second")
    return f"{_WORDS[stage['state']]}{told}" + (f": {rounded(tokens)} tokens/s" if tokens else "")


def _sentences(nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Each with the nodes that it is about; what speaks against a node comes first."""
    told: dict[str, list[str]] = {}
    for part in ("reasons", "remarks"):
        for name, node in nodes.items():
            for sentence in node[part]:
                told.setdefault(sentence, []).append(name)
    return [f"{', '.join(about)}: {sentence}" for sentence, about in told.items()]


def _links(data: Mapping[str, Any]) -> list[str]:
    named = [link for link in data["links"] if data["ring"]["hosts"]]
    counted = "a bad link" if len(named) == 1 else f"{len(named)} faulty links"
    return [f"The ring avoids {counted} between healthy nodes."] if named else []


def _summary(data: Mapping[str, Any]) -> list[str]:
    counted = f"{len(data['hosts'])} hosts" + (f" and {len(data['spares'])} spares" if data["spares"] else "")
    rate = data["ring"]["busbw_gb_per_s"]
    ring = f"; an all-reduce over all of the ring has {rounded(rate)} GB/s" if rate else ""
    took = ", ".join(f"{stage} {seconds:.0f} s" for stage, seconds in data["seconds"].items())
    hosts = [f"{counted} for the next job{ring}"] if data["hosts"] else []
    return [*hosts, f"took {took}"] if took else hosts


def _square(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """GB/s of every pair that was measured, in the order of the table."""
    place = {name: number for number, name in enumerate(data["nodes"])}
    bad = {name for name, node in data["nodes"].items() if node["stages"].get("pairs", {}).get("state") == FAILED}
    cells = [
        {
            "row": place[one],
            "column": place[other],
            "value": pair["busbw_gb_per_s"],
            # That its time was over says nothing alone: what it showed is in the links and the nodes.
            "bad": bool(pair["why"] and not pair["late"])
            or " ".join(sorted((one, other))) in data["links"]
            or bool(bad & {one, other}),
            "note": f"{one} and {other}: {pair['why'] or format(pair['busbw_gb_per_s'] or 0, '.3g') + ' GB/s'}",
        }
        for pair in data["pairs"]
        for one, other in [pair["nodes"]]
    ]
    about = "GB/s of an all-reduce over every two nodes, crossed out where a node or the link is faulty"
    return [{"title": about, "names": list(place), "cells": cells}] if cells else []


def _cards(figure: str, nodes: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A bar a node: its slowest, its middle and its fastest card against the median of all."""
    rates = {
        name: [card[figure] for card in node["cards"].values() if card.get(figure)] for name, node in nodes.items()
    }
    every = [rate for some in rates.values() for rate in some]
    if not every:
        return []
    middle = median(every)
    bars = [
        {
            "label": name,
            "estimate": median(some) / middle,
            "low": min(some) / middle,
            "high": max(some) / middle,
            "tone": "bad" if nodes[name]["stages"].get("compute", {}).get("state") == FAILED else "plain",
        }
        for name, some in rates.items()
        if some
    ]
    return [{"title": _CARD_RATES[figure], "x_label": "of the median of all cards", "bars": bars}]


def _cases(nodes: Mapping[str, Mapping[str, Any]]) -> list[Case]:
    found = []
    for name, node in nodes.items():
        for stage, outcome in node["stages"].items():
            found.append(Case(name, stage, outcome["state"], " ".join(outcome["reasons"])))
        if not node["stages"]:
            found.append(Case(name, "self_test", UNKNOWN, " ".join(node["reasons"])))
    return found


KIND = Kind((QUALIFIED,), qualify_nodes_kind)
