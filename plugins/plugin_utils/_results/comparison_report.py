# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The comparisons of all nodes as one report; pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._compare.comparison import BASE
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.verdict import CHANGES_LOSS, FAILED, HELPS, HURTS
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.comparison_kept import Results, answered, helpful

COLUMNS = ("setting", "node", "verdict", "samples/s ratio", "step time ratio", "samples/s", "memory", "loss")
_TONES = {HELPS: "good", HURTS: "bad", FAILED: "bad", CHANGES_LOSS: "bad"}
# With fewer nodes nobody can tell which of them is the outlier.
_NODES_FOR_AN_OUTLIER = 3
_MIB = 1 << 20


def comparison_report(results: Results, given: Sequence[str], tolerance: float) -> dict[str, Any]:
    """What ``gaudi3.scale.report`` takes, and ``failures``: a sentence for the nodes without an answer, by reason.

    ``results`` has what the module returned for each host, or its failure; ``given`` are the hosts in order. A node
    whose base is slower than the others' by more than ``tolerance`` is named.
    """
    nodes = answered(results)
    names = list(dict.fromkeys(one["name"] for result in nodes.values() for one in result["verdicts"]))
    rows = [_row(host, nodes[host], name) for name in (BASE, *names) for host in nodes]
    failures = _failures(results, [host for host in given if host not in nodes])
    return {
        "title": _title(nodes),
        "columns": [column for column in COLUMNS if column != "node" or len(given) > 1],
        "rows": rows,
        "notes": [*_method(nodes), *_reasons(nodes, names), *_differences(nodes, names, tolerance), *failures],
        "intervals": [_chart(nodes, names)] if any(one["speed"] for _host, one in _all(nodes)) else [],
        "data": {
            "hosts": {
                host: {key: result[key] for key in ("fields", "settings", "rates")} for host, result in nodes.items()
            },
            "verdicts": {host: result["verdicts"] for host, result in nodes.items()},
        },
        "failures": failures,
        "regressions": [f"on {host} {one}" for host, result in nodes.items() for one in result["regressions"]],
    }


def _all(nodes: Results) -> list[tuple[str, Mapping[str, Any]]]:
    return [(host, one) for host, result in nodes.items() for one in result["verdicts"]]


def _title(nodes: Results) -> str:
    if not nodes:
        return "The settings could not be compared on any node"
    if not any(result["rounds"] for result in nodes.values()):
        return "Nothing is measured yet (check mode makes no run)"
    names = helpful(nodes)
    return f"Settings that help: {', '.join(names)}" if names else "No setting helps beyond noise"


def _row(host: str, result: Mapping[str, Any], name: str) -> dict[str, object]:
    base = result["base"]
    one = base if name == BASE else next(verdict for verdict in result["verdicts"] if verdict["name"] == name)
    return {
        "setting": name,
        "node": host,
        "verdict": None if name == BASE else one["verdict"],
        "samples/s ratio": None if name == BASE else _interval(one["speed"]),
        "step time ratio": None if name == BASE else _interval(one["step_time"]),
        "samples/s": one["samples_per_second"],
        "memory": _memory(one["peak_memory_bytes"], None if name == BASE else one["memory"]),
        "loss": _loss(one["loss"], None if name == BASE else one["loss_change"]),
    }


def _interval(one: Mapping[str, float] | None) -> str | None:
    return None if one is None else f"{one['estimate']:.3f} ({one['low']:.3f} to {one['high']:.3f})"


def _memory(peak: float | None, ratio: float | None) -> str | None:
    if peak is None:
        return None
    return f"{peak / _MIB:,.0f} MiB" + ("" if ratio is None else f" ({ratio - 1:+.1%})")


def _loss(loss: float | None, change: float | None) -> str | None:
    if loss is None:
        return None
    return quantity(loss) + ("" if change is None else f" ({change:+.2%})")


def _method(nodes: Results) -> list[str]:
    measured = [result for result in nodes.values() if result["rounds"]]
    if not measured:
        return []
    rounds = [result["rounds"] for result in measured]
    least, most = min(rounds), max(rounds)
    first = measured[0]
    counted = str(most) if least == most else f"{least} to {most}"
    method = (
        f"{counted} rounds, each run in a separate process; in brackets, the confidence interval at "
        f"{first['level']:.2%}, for "
        f"a joint confidence of {first['confidence']:.0%}"
    )
    return [method, "samples/s ratio: relative to the base in the same rounds; above 1 is faster"]


def _reasons(nodes: Results, names: Sequence[str]) -> list[str]:
    """Why, for each setting: once where all nodes say the same, else for each node."""
    sentences = []
    for name in (BASE, *names):
        said: dict[str, list[str]] = {}
        for host, result in nodes.items():
            for sentence in _said(result, name):
                said.setdefault(sentence, []).append(host)
        everywhere = len(nodes)
        sentences += [
            f"{name}: {sentence}" if len(hosts) == everywhere else f"{name} on {', '.join(hosts)}: {sentence}"
            for sentence, hosts in said.items()
        ]
    return sentences


def _said(result: Mapping[str, Any], name: str) -> list[str]:
    if name == BASE:
        return list(result["base_notes"])
    one = next(verdict for verdict in result["verdicts"] if verdict["name"] == name)
    return [*([f"{one['verdict']}: {one['why']}"] if one["why"] else []), *one["notes"]]


def _differences(nodes: Results, names: Sequence[str], tolerance: float) -> list[str]:
    """Where the nodes do not agree: none of them is the truth for the others."""
    sentences = []
    for name in names:
        found = {host: next(one for one in result["verdicts"] if one["name"] == name) for host, result in nodes.items()}
        if len({one["verdict"] for one in found.values()}) > 1:
            reported = ", ".join(f"{one['verdict']} on {host}" for host, one in found.items())
            sentences.append(f"{name} differs between nodes, so it is not saved: {reported}")
        sentences += _outside(name, {host: one["speed"] for host, one in found.items() if one["speed"]})
    return sentences + _slow_nodes(nodes, tolerance)


def _outside(name: str, speeds: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Nodes whose interval holds the estimate of none of the others."""
    if len(speeds) < _NODES_FOR_AN_OUTLIER:
        return []
    sentences = []
    for host, speed in speeds.items():
        others = statistics.median(one["estimate"] for other, one in speeds.items() if other != host)
        apart = all(
            speed["high"] < one["low"] or one["high"] < speed["low"] for other, one in speeds.items() if other != host
        )
        if apart:
            sentences.append(
                f"{host} is an outlier for {name}: {speed['estimate']:.3f}, the others' median {others:.3f}"
            )
    return sentences


def _slow_nodes(nodes: Results, tolerance: float) -> list[str]:
    rates = {host: result["base"]["samples_per_second"] for host, result in nodes.items()}
    known = {host: rate for host, rate in rates.items() if rate}
    if len(known) < 2:
        return []
    best = statistics.median(known.values()) if len(known) >= _NODES_FOR_AN_OUTLIER else max(known.values())
    than = "the nodes' median" if len(known) >= _NODES_FOR_AN_OUTLIER else "the other node"
    return [
        f"{host} is slow: its base makes {1 - rate / best:.1%} fewer samples/s than {than}; check it with verify.yml"
        for host, rate in known.items()
        if rate < (1 - tolerance) * best
    ]


def _failures(results: Results, hosts: Sequence[str]) -> list[str]:
    """A sentence for each reason, with the nodes that gave it."""
    by_reason: dict[str, list[str]] = {}
    for host in hosts:
        result = results.get(host, {})
        word = "unreachable" if result.get("unreachable") else "failed"
        reason = " ".join(str(result.get("msg") or "it was not reached").split())
        by_reason.setdefault(f"{word}: {reason}", []).append(host)
    return [f"{', '.join(names)} {reason}" for reason, names in by_reason.items()]


def _chart(nodes: Results, names: Sequence[str]) -> dict[str, Any]:
    bars = []
    for name in names:
        for host, result in nodes.items():
            one = next(verdict for verdict in result["verdicts"] if verdict["name"] == name)
            label = f"{name}, {host}" if len(nodes) > 1 else name
            bars.append({"label": label, **_bar(one)})
    return {"title": "Speed of each setting", "x_label": "samples/s, of those of the base", "bars": bars}


def _bar(one: Mapping[str, Any]) -> dict[str, Any]:
    tone = _TONES.get(one["verdict"], "plain")
    if one["speed"] is None:
        return {"tone": tone, "note": one["verdict"]}
    return {"tone": tone, "note": one["verdict"], **{key: one["speed"][key] for key in ("estimate", "low", "high")}}
