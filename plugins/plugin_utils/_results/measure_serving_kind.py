# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A measured serving as a report: each run, the curves over the load, and the highest load within the limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity, rounded, written
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.load.search import Limits, misses
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import taken
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._serving.measured import ANSWER
from ansible_collections.gaudi3.scale.plugins.plugin_utils._serving.run_line import milliseconds

MODULE = "gaudi3.scale.serving_measurement"
MEASURED = "gaudi_serving_measured_result"
OK, FAILED, MISSED = "ok", "failed", "above its limit"
COLUMNS = (
    "node",
    "clients",
    "requests/s",
    "tokens/s",
    "first token (ms)",
    "p95",
    "between tokens (ms)",
    "p95 ",
    "answer p95 (s)",
    "failed",
    "verdict",
)
LEGEND = (
    "a client sends its next request once it has its answer; the first request of each does not count for latencies",
    "p95 is the 95th percentile, beside the median",
)


def measure_serving_kind(asked: Asked) -> Made:
    """``given``: what was asked for. A refusal where nothing was measured, or a limit holds for no load."""
    results = asked.results(MEASURED)
    limits = Limits(float(asked.given["first_token_ms"]), float(asked.given["between_tokens_ms"]))
    measured: dict[str, Mapping[str, Any]] = {}
    reasons: dict[str, str] = {}
    for host in asked.hosts:
        result = results.get(host, {})
        try:
            answer = taken(host, MODULE, ANSWER, result) if result.get("runs") else {}
        except GaudiError as error:
            reasons[host] = str(error)
            continue
        if answer:
            measured[host] = answer
            reason = _reason(answer, limits)
        else:
            reason = "" if asked.check_mode else asked.why_no_result(result, "Nothing was measured.")
        if reason:
            reasons[host] = reason
    rows = [
        _row(host, run, limits) for host, result in measured.items() for run in sorted(result["runs"], key=_clients)
    ]
    said = [f"{host}: {sentence}" for host, result in measured.items() if (sentence := _highest(result, limits))]
    return Made(
        {
            "title": _title(measured, asked.given),
            "columns": COLUMNS if rows else ["node"],
            "rows": rows,
            "notes": [*said, *(f"{host}: {reason}" for host, reason in reasons.items()), *(LEGEND if rows else ())],
            "charts": _charts(measured, limits),
            "data": {"runs": {host: result["runs"] for host, result in measured.items()}, "given": asked.given},
        },
        {
            "nodes": {host: FAILED if host in reasons else OK for host in asked.hosts},
            "ok": bool(measured) and not reasons,
            "numbers": _numbers(measured),
        },
        reasons=reasons,
    )


def _clients(run: Mapping[str, Any]) -> int:
    return int(run["concurrency"])


def _reason(result: Mapping[str, Any], limits: Limits) -> str:
    """Why a node that has measured does not pass."""
    if limits:
        return "One client alone is above the limit." if result["highest_load"] == 0 else ""
    failed = sum(run["failed"] for run in result["runs"])
    if not failed:
        return ""
    reasons = {reason: None for run in result["runs"] for reason in run["errors"]}
    return f"{failed:,} of {sum(run['requests'] for run in result['runs']):,} requests failed: {'; '.join(reasons)}."


def _highest(result: Mapping[str, Any], limits: Limits) -> str:
    if not limits or not result["highest_load"]:
        return ""
    asked = {"first token": limits.first_token_ms, "between tokens": limits.between_tokens_ms}
    within = " and ".join(f"p95 {name} within {written(limit)} ms" for name, limit in asked.items() if limit)
    best = max(
        (run for run in result["runs"] if run["concurrency"] == result["highest_load"]), key=_clients, default=None
    )
    rates = ""
    if best:
        rates = f", {rounded(best['requests_per_s'])} requests/s and {quantity(best['output_tokens_per_s'])} tokens/s"
    least = "at least " if result["is_highest"] else ""
    count = result["highest_load"]
    return f"{least}{count:,} client{'s' if count != 1 else ''} at a time with {within}{rates}"


def _title(measured: Mapping[str, Mapping[str, Any]], given: Mapping[str, Any]) -> str:
    models = dict.fromkeys(str(run["model"]) for result in measured.values() for run in result["runs"])
    lengths = f"{int(given['input_tokens']):,} + {int(given['output_tokens']):,} tokens"
    return f"Serving of {', '.join(models)}, {lengths}" if models else "Serving"


def _row(host: str, run: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    whole = (run.get("request_ms") or {}).get("p95")
    return {
        "node": host,
        "clients": run["concurrency"],
        "requests/s": rounded(run["requests_per_s"]),
        "tokens/s": quantity(run["output_tokens_per_s"]),
        "first token (ms)": milliseconds(run, "first_token_ms", "p50"),
        "p95": milliseconds(run, "first_token_ms", "p95"),
        "between tokens (ms)": milliseconds(run, "between_tokens_ms", "p50"),
        "p95 ": milliseconds(run, "between_tokens_ms", "p95"),
        "answer p95 (s)": rounded(whole / 1e3) if isinstance(whole, (int, float)) else "",
        "failed": run["failed"] or "",
        "verdict": FAILED if run["failed"] else MISSED if limits and misses(run, limits) > 1 else OK,
    }


def _charts(measured: Mapping[str, Mapping[str, Any]], limits: Limits) -> list[dict[str, Any]]:
    asked = {"first token": ("first_token_ms", limits.first_token_ms)}
    asked["between tokens"] = ("between_tokens_ms", limits.between_tokens_ms)
    charts = [
        {
            **_chart(f"p95 {title}", "ms", _series(measured, lambda run, name=name: (run[name] or {}).get("p95"))),
            "marks": [{"axis": "y", "value": limit, "label": "limit", "tone": "bad"}] if limit else [],
        }
        for title, (name, limit) in asked.items()
    ]
    charts.append(_chart("Throughput", "tokens/s", _series(measured, lambda run: run["output_tokens_per_s"])))
    return [chart for chart in charts if chart["series"]]


def _chart(title: str, unit: str, series: list[dict[str, Any]]) -> dict[str, Any]:
    look = {"stacked": False, "dots": True, "y_from_zero": True, "from_zero": True}
    return {"title": title, "x_label": "clients", "y_label": unit, **look, "series": series}


def _series(measured: Mapping[str, Mapping[str, Any]], value: Any) -> list[dict[str, Any]]:
    """A curve per node that has two points."""
    found = []
    for host, result in measured.items():
        told = ((run["concurrency"], value(run)) for run in sorted(result["runs"], key=_clients))
        points: Sequence[list[float]] = [[clients, one] for clients, one in told if isinstance(one, (int, float))]
        if len(points) > 1:
            found.append({"label": host, "points": points})
    return found


def _numbers(measured: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Of all nodes together: the throughput, and the clients that the limit allows."""
    best = [max(run["output_tokens_per_s"] for run in result["runs"]) for result in measured.values()]
    found = [result["highest_load"] for result in measured.values() if result["highest_load"] is not None]
    numbers: dict[str, float] = {"output_tokens_per_s": round(sum(best), 1)} if best else {}
    return {**numbers, **({"highest_load": sum(found)} if found else {})}


KIND = Kind((MEASURED,), measure_serving_kind)
