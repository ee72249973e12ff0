# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Measured collectives as a report: the columns of nccl-tests, a curve for each, and what is below its floor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    Kind,
    number,
    record,
    several,
    taken,
    whole,
    word,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Kind as Report
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.bandwidth_chart import bandwidth_charts, curve

MEASURED = "gaudi_collectives_measured_result"
_MOST_LINES = 4096
_LINE = record(
    {"collective": word, "bytes": whole(1), "seconds": number, "algbw_gb_per_s": number, "busbw_gb_per_s": number},
    {"repeats": whole(1), "world_size": whole(1), "nodes": whole(1), "device": word, "dtype": word},
)
ANSWER: Kind = record({"metrics": several(_LINE, _MOST_LINES)})
COLUMNS = ("collective", "bytes", "calls", "time (us)", "algbw (GB/s)", "busbw (GB/s)", "verdict")
LEGEND = (
    "each element of each rank was checked; bytes are those of the larger buffer of a rank",
    "busbw is what each rank's link carried, in 10^9 bytes a second: the definitions are those of nccl-tests",
)


def measure_collectives_kind(asked: Asked) -> Made:
    """What rank 0 has told. A refusal where a rank failed, or a floor was not reached."""
    lines = _lines(asked)
    floors = {str(name): float(least) for name, least in asked.given.get("floors", {}).items()}
    below = [sentence for sentence in (_below(name, least, lines) for name, least in floors.items()) if sentence]
    largest = list(_largest(lines).values())
    failure = str(asked.given.get("failure") or "")
    reasons = [*([failure] if failure else []), *below]
    state = "failed" if failure or not lines else "below its minimum" if below else "ok"
    return Made(
        {
            "title": _title(lines),
            "columns": COLUMNS,
            "rows": [_row(line, floors if line in largest else {}) for line in lines],
            "notes": [*reasons, *(LEGEND if lines else [])],
            "charts": bandwidth_charts(_curves(lines)),
            "data": {"lines": lines},
        },
        {
            "nodes": dict.fromkeys(asked.hosts, state),
            "ok": state == "ok",
            "numbers": {f"{name}_gb_per_s": best["busbw_gb_per_s"] for name, best in _largest(lines).items()},
        },
        refusal=" ".join(reasons) if reasons else "" if lines else "Nothing was measured.",
    )


def _lines(asked: Asked) -> list[dict[str, Any]]:
    """Of the node that holds rank 0; nothing where it has none."""
    for host, result in asked.results(MEASURED).items():
        # The others have skipped the task.
        if "metrics" not in result:
            continue
        told = [
            line for line in result["metrics"] or () if isinstance(line, Mapping) and line.get("kind") == "collective"
        ]
        try:
            lines: list[dict[str, Any]] = taken(host, "training_job_info", ANSWER, {"metrics": told})["metrics"]
        except GaudiError:
            return []
        return lines
    return []


def _title(lines: Sequence[Mapping[str, Any]]) -> str:
    if not lines:
        return "Collectives"
    first = lines[0]
    told = f"{first.get('world_size', '?')} ranks on {first.get('nodes', '?')} nodes"
    return f"Collectives over {told} ({first.get('device', '?')}, {first.get('dtype', '?')})"


def _largest(lines: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Collective -> its line of the largest size."""
    return {str(line["collective"]): line for line in sorted(lines, key=lambda line: int(line["bytes"]))}


def _below(name: str, least: float, lines: Sequence[Mapping[str, Any]]) -> str:
    line = _largest(lines).get(name)
    if line is None:
        return f"{name} was not measured, and its floor is {least:g} GB/s."
    if line["busbw_gb_per_s"] >= least:
        return ""
    carried = quantity(line["busbw_gb_per_s"])
    return f"{name} carried {carried} GB/s at {line['bytes']:,} bytes, below the minimum of {least:g}."


def _row(line: Mapping[str, Any], floors: Mapping[str, float]) -> dict[str, Any]:
    least = floors.get(line["collective"])
    verdict = "" if least is None else "ok" if line["busbw_gb_per_s"] >= least else f"below {least:g}"
    return {
        "collective": line["collective"],
        "bytes": line["bytes"],
        "calls": line.get("repeats", ""),
        "time (us)": quantity(line["seconds"] * 1e6),
        "algbw (GB/s)": quantity(line["algbw_gb_per_s"]),
        "busbw (GB/s)": quantity(line["busbw_gb_per_s"]),
        "verdict": verdict,
    }


def _curves(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    names = dict.fromkeys(line["collective"] for line in lines)
    return [curve(name, [line for line in lines if line["collective"] == name]) for name in names]


KIND = Report((MEASURED,), measure_collectives_kind)
