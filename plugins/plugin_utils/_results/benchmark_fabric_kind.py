# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The measured choice of the network as a report: two nodes a line and network, and a curve for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import rounded, written
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.verdict import (
    NOT_MEASURED,
    NOT_OK,
    OK,
    SLOWER,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.bandwidth_chart import (
    MEBIBYTE,
    bandwidth_charts,
    curve,
)

MEASURED = "gaudi_fabric_benchmark_result"
KIBIBYTE = 1 << 10
LEGEND = "GB/s are the bus bandwidth of an all-reduce with a correct sum; flags are those of the network's profile"


def benchmark_fabric_kind(asked: Asked) -> Made:
    """What was measured between every two nodes."""
    nodes = nodes_of(asked)
    rows = [row for node, found in nodes.items() for row in _rows(node, found, nodes)]
    sizes = sorted({size["bytes"] for found in nodes.values() for row in found["rows"] for size in row["sizes"]})
    measured_at = sorted({str(found["time"]) for found in nodes.values() if found.get("cached")})
    known = [f"measured at {measured_at[0]}; gaudi_fabric_benchmark_again: true measures again"] if measured_at else []
    return Made(
        {
            "title": "Network benchmark",
            "columns": ["nodes", "network", *map(_column, sizes), "flags", "verdict"],
            "rows": rows,
            "notes": [*_sentences(nodes), *known, *([LEGEND] if sizes else [])],
            "charts": bandwidth_charts(_curves(nodes)),
            "data": nodes,
        },
        {
            "nodes": {node: found["state"] for node, found in nodes.items()},
            "good": [OK, SLOWER, NOT_MEASURED],
            "numbers": {"measured": sum(bool(found["rows"]) for found in nodes.values())},
        },
        reasons={node: found["reason"] for node, found in nodes.items() if found["state"] == NOT_OK},
    )


def nodes_of(asked: Asked) -> dict[str, Mapping[str, Any]]:
    """The verdict of each node, in the order of the table. One task has it for all, so each host has all."""
    results = asked.results(MEASURED).values()
    found = {node: verdict for result in results for node, verdict in (result.get("nodes") or {}).items()}
    return {host: found.get(host) or _absent(asked.why_nothing(host)) for host in asked.hosts}


def _absent(why: str) -> dict[str, Any]:
    return {"state": NOT_MEASURED, "reason": f"it was not measured: {why}", "rows": []}


def _rows(node: str, found: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A line for each network, the chosen one also where it has no figures; the second of a pair has no line."""
    partner = str(found.get("partner", ""))
    order = list(nodes)
    if nodes.get(partner, {}).get("partner") == node and order.index(partner) < order.index(node):
        return []
    label, chosen = ", ".join(filter(None, [node, partner])), str(found.get("chosen", ""))
    own = {"nodes": label, "network": f"{chosen} (chosen)" if chosen else "", "verdict": found["state"]}
    rows = [_row(label, found, row) for row in found["rows"]]
    return rows if any(row["provider"] == chosen for row in found["rows"]) else [own, *rows]


def _row(label: str, found: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    chosen = row["provider"] == found["chosen"]
    return {
        "nodes": label,
        "network": f"{row['provider']} (chosen)" if chosen else row["provider"],
        **{_column(size["bytes"]): rounded(size["busbw_gb_per_s"]) for size in row["sizes"]},
        "flags": " ".join(f"{name}={value}" for name, value in row["flags"].items()),
        "verdict": found["state"] if chosen else "failed" if row["why"] else _beside(row, found),
    }


def _beside(row: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    return "fastest" if row["provider"] == found["fastest"] and found["state"] == SLOWER else ""


def _sentences(nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is to be told, each once, with the nodes that it is about; a network beside the chosen one may fail, too."""
    told: dict[str, list[str]] = {}
    for node, found in nodes.items():
        also = [row for row in found["rows"] if row["why"] and row["provider"] != found["chosen"]]
        for why in filter(None, [found["reason"], *(f"over {row['provider']} {row['why']}" for row in also)]):
            told.setdefault(why, []).append(node)
    return [f"{', '.join(about)}: {why}" for why, about in told.items()]


def _column(size: int) -> str:
    number, unit = (size / KIBIBYTE, "KiB") if size < MEBIBYTE else (size / MEBIBYTE, "MiB")
    return f"GB/s at {written(number)} {unit}"


def _curves(nodes: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        curve(f"{node}, {found['partner']}: {row['provider']}", row["sizes"])
        for node, found in nodes.items()
        if found["rows"] and _rows(node, found, nodes)
        for row in found["rows"]
        if row["sizes"]
    ]


KIND = Kind((MEASURED,), benchmark_fabric_kind)
