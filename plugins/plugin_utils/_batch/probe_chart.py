# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Memory and throughput over the batch size, as the charts that the action ``report`` takes; pure."""

from __future__ import annotations

from typing import Any, Mapping

from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity

MIB, GIB = 1 << 20, 1 << 30


def probe_charts(host: str, result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Two charts over the same sizes, with the limit, the choice, and the sizes that ran out of memory."""
    trials = result["trials"]
    limit = min((trial["limit_bytes"] for trial in trials if trial["limit_bytes"]), default=None)
    most = max([limit or 0, *(trial["peak_memory_bytes"] or 0 for trial in trials)])
    unit, name = (GIB, "GiB") if most >= GIB else (MIB, "MiB")
    ran = sorted((trial for trial in trials if trial["outcome"] == "ok"), key=lambda trial: trial["batch_size"])
    # Of two trials of a size the one with the larger peak, and the slower one, counts.
    peaks: dict[int, float] = {}
    speeds: dict[int, float] = {}
    for trial in ran:
        size = trial["batch_size"]
        if trial["peak_memory_bytes"]:
            peaks[size] = max(peaks.get(size, 0), trial["peak_memory_bytes"] / unit)
        if trial["step_seconds"]:
            speeds[size] = min(speeds.get(size, float("inf")), size / trial["step_seconds"])
    marks = _marks(result)
    full = [] if limit is None else [_mark("y", limit / unit, f"limit {quantity(limit / unit)} {name}", "bad")]
    charts = []
    if peaks:
        charts.append(_chart(f"Memory on {host}", f"most memory in use, {name}", peaks, [*full, *marks]))
    if speeds:
        charts.append(_chart(f"Throughput on {host}", "samples a second", speeds, marks))
    return charts


def _marks(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    failed = sorted({trial["batch_size"] for trial in result["trials"] if trial["outcome"] == "out_of_memory"})
    choice = _mark("x", result["batch_size"], f"choice {result['batch_size']}", "good")
    return [choice, *(_mark("x", size, f"{size} ran out of memory", "bad") for size in failed)]


def _mark(axis: str, value: float, label: str, tone: str) -> dict[str, Any]:
    return {"axis": axis, "value": value, "label": label, "tone": tone}


def _chart(title: str, y_label: str, points: Mapping[int, float], marks: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "title": title,
        "x_label": "batch size",
        "y_label": y_label,
        "points": [[size, value] for size, value in points.items()],
        "marks": marks,
        "dots": True,
        "from_zero": True,
    }
