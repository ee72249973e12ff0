# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A benchmark as a report: each row with its interval and scaling, the steps in its history, and what is slower."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made

BENCHMARKED = "gaudi_benchmark_result"
COLUMNS = (
    "workload",
    "precision",
    "batch",
    "nodes",
    "ranks",
    "rate",
    "interval",
    "per node",
    "efficiency",
    "steps counted",
    "memory",
    "verdict",
)
STEP_COLUMNS = ("row", "since", "change", "interval", "what changed there")
LEGEND = (
    "batch: samples per rank and step; efficiency: the rate per node, of that of the same row with the fewest nodes",
    "all figures were measured in this run; none is a vendor's or a guide's",
)
OK, SLOWER, MISSING = "ok", "slower", "no figure"
_MIB = 1 << 20
# More lines than a person tells apart.
_MOST_CURVES = 8


def benchmark_training_kind(asked: Asked) -> Made:
    """What one task has measured over all hosts. A refusal where a row has no figure, or is slower than it was."""
    found: Mapping[str, Any] = next(iter(asked.results(BENCHMARKED).values()), {})
    figures: Sequence[Mapping[str, Any]] = found.get("figures") or []
    if not figures:
        refusal = asked.why_no_result(found, "Nothing was measured.")
        return Made({"title": "Benchmark", "columns": ["workload"], "rows": []}, {"ok": False}, refusal=refusal)
    missing = [] if asked.check_mode else [f"{one['label']}: {one['why']}" for one in figures if not one["rates"]]
    slower, steps = found["regressions"], _steps(found["history"])
    return Made(
        {
            "title": _title(figures, asked.check_mode),
            "columns": COLUMNS,
            "rows": [_row(one, found["changes"], slower) for one in figures],
            "notes": [
                *missing,
                *slower,
                *found["remarks"],
                *(_no_step(found) if not steps else []),
                *_method(found),
                *_measured_with(figures),
                *LEGEND,
            ],
            "intervals": _scaling(figures),
            "charts": _over_time(found["history"]),
            "sections": [_section(steps, found)] if steps else [],
            "data": {"benchmark_training": list(figures), "history": found["history"], "method": found["method"]},
        },
        {
            "nodes": dict.fromkeys(asked.hosts, OK if not (missing or slower) else SLOWER if slower else MISSING),
            "ok": not missing and not slower,
            "numbers": {"figures": len(figures) - len(missing), "slower": len(slower), "steps": len(steps)},
        },
        refusal=" ".join([*(f"{one.rstrip('.')}." for one in missing), *slower]),
    )


def _title(figures: Sequence[Mapping[str, Any]], check_mode: bool) -> str:
    nodes = sorted({int(one["case"]["nodes"]) for one in figures})
    over = " and ".join([", ".join(map(str, nodes[:-1])), str(nodes[-1])] if len(nodes) > 1 else map(str, nodes))
    plain = f"Training benchmark on {over} node{'s' if nodes[-1] > 1 else ''}"
    return f"{plain} (check mode: nothing was measured)" if check_mode else plain


def _row(one: Mapping[str, Any], changes: Sequence[Mapping[str, Any]], slower: Sequence[str]) -> dict[str, Any]:
    case, rate = one["case"], one["rate"]
    about = {
        "workload": case["workload"],
        "precision": case["precision"],
        "batch": case["batch_size"],
        "nodes": case["nodes"],
        "ranks": case["nodes"] * case["processes"],
    }
    if not rate:
        return {**about, "verdict": MISSING}
    unit = one["unit"].replace("_per_second", "/s")
    change = next((change["speed"]["estimate"] for change in changes if change["label"] == one["label"]), None)
    is_slower = any(sentence.startswith(f"{one['label']} is ") for sentence in slower)
    return {
        **about,
        "rate": f"{quantity(rate['estimate'])} {unit}",
        "interval": f"{quantity(rate['low'])} to {quantity(rate['high'])}",
        "per node": quantity(rate["estimate"] / case["nodes"]),
        "efficiency": _ratio(one["efficiency"]),
        "steps counted": ", ".join(dict.fromkeys(one["steps"])),
        "memory": f"{one['memory_bytes'] / _MIB:,.0f} MiB" if one["memory_bytes"] else None,
        "verdict": (SLOWER if is_slower else OK) + ("" if change is None else f" ({change - 1:+.1%})"),
    }


def _ratio(one: Mapping[str, float] | None) -> str | None:
    return None if one is None else f"{one['estimate']:.1%} ({one['low']:.1%} to {one['high']:.1%})"


def _method(found: Mapping[str, Any]) -> list[str]:
    method = found["method"]
    runs = f"{method['repeats']} runs per row, each a job of its own, in turns"
    counts = (
        f"a run counts from the first metric line after {method['warm_up']} steps from which on it varies and drifts"
    )
    return [
        f"{runs}; intervals are those of their geometric mean, at {method['confidence']:.0%}",
        f"{counts} by at most {method['spread']:.0%}, to its end",
    ]


def _measured_with(figures: Sequence[Mapping[str, Any]]) -> list[str]:
    """The release, driver, firmware and flags, of the row with the most nodes."""
    keys = [one["key"] for one in figures if one.get("key")]
    if not keys:
        return []
    key = max(keys, key=lambda one: len(one["hosts"]))
    flags = " ".join(f"{name}={value}" for name, value in key["flags"].items())
    said = {name: " ".join(key[name]) for name in ("release", "driver", "firmware", "hosts")}
    return ["; ".join(f"{name}: {value or 'none'}" for name, value in {**said, "flags": flags}.items())]


def _scaling(figures: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    bars = [
        {"label": one["label"], **{name: one["efficiency"][name] for name in ("estimate", "low", "high")}}
        for one in figures
        if one["efficiency"]
    ]
    about = {"title": "Scaling efficiency", "x_label": "rate per node, of that with the fewest nodes"}
    return [{**about, "bars": bars}] if bars else []


def _over_time(history: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The median rate of each benchmark in the history, of that of the first."""
    series = [
        {"label": _label(one["case"]), "points": _course(one["entries"])} for one in history if len(one["entries"]) > 1
    ]
    about = {"title": "History", "x_label": "benchmark", "y_label": "rate, of that of the first"}
    return [{**about, "series": series[:_MOST_CURVES], "stacked": False}] if series else []


def _course(entries: Sequence[Sequence[Any]]) -> list[list[float]]:
    middles = [sorted(rates)[len(rates) // 2] for _time, rates in entries]
    return [[float(number), middle / middles[0]] for number, middle in enumerate(middles, 1)]


def _steps(history: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "row": _label(one["case"]),
            "since": datetime.fromtimestamp(step["time"], timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "change": f"{step['speed']['estimate'] - 1:+.1%}",
            "interval": f"{step['speed']['low'] - 1:+.1%} to {step['speed']['high'] - 1:+.1%}",
            "what changed there": step["cause"],
        }
        for one in history
        for step in one["steps"]
    ]


def _section(steps: Sequence[Mapping[str, Any]], found: Mapping[str, Any]) -> dict[str, Any]:
    title, notes = "Steps in the history", [_compared(found)]
    return {"title": title, "columns": STEP_COLUMNS, "rows": steps, "notes": notes}


def _no_step(found: Mapping[str, Any]) -> list[str]:
    return [f"no step in the history: {_compared(found)}"] if found["history"] else []


def _compared(found: Mapping[str, Any]) -> str:
    most = max(len(one["entries"]) for one in found["history"])
    return f"{most} benchmark{'s' if most != 1 else ''} in {found['history_file']}"


def _label(case: Mapping[str, Any]) -> str:
    nodes = case["nodes"]
    return f"{case['workload']}, batch {case['batch_size']}, {nodes} node{'s' if nodes > 1 else ''}"


KIND = Kind((BENCHMARKED,), benchmark_training_kind)
