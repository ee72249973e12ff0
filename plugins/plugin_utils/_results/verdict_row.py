# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One node's line in the table at the end of ``site.yml``, from what the layers registered for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import RUNNING
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import rounded
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.verdict import NOT_OK, SLOWER
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import FACTS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.benchmark_fabric_kind import MEASURED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.earlier_failure import NOT_KNOWN

# Of a node that nothing speaks against, and that was not measured to its end.
INCONCLUSIVE = "inconclusive"
# Nothing is wrong with the node, and what its layers have set is not all in force.
RESTART = "ok, restart needed"
# Of a run over some layers only, in front of their names.
APPLIED = "ok: "
# What check mode says of a node without a driver.
NOT_INSTALLED = "not installed yet"
# In the order of site.yml.
LAYERS = (
    "preflight",
    "host",
    "driver",
    "containers",
    "fabric",
    "storage",
    "venv",
    "flags",
    "verify",
    "verify_all_reduce",
)


def result_of(layer: str) -> str:
    """The variable in which the layer's role leaves its result."""
    return f"gaudi_{layer}_result"


def verdict_row(
    host: Mapping[str, Any], clock: str = "", *, ends_at_verify: bool = True, why_nothing: str = f"{NOT_KNOWN}."
) -> dict[str, object]:
    """The row of a node with the variables ``host``; ``reason`` is None, or a sentence about what went wrong.

    ``clock`` is a sentence where its clock is off from those of the others. ``ends_at_verify``: a node that was not
    verified has failed before, as ``why_nothing`` says; else the run was one over some layers only.
    """
    results = {layer: host[key] for layer in LAYERS if isinstance(host.get(key := result_of(layer)), Mapping)}
    summary: Mapping[str, Any] = results.get("verify", {}).get("summary") or {}
    fabric = (host.get(FACTS) or {}).get("gaudi_fabric") or {}
    node = host["inventory_hostname"]
    measured: Mapping[str, Any] = (host.get(MEASURED) or {}).get("nodes", {}).get(node) or {}
    verdict, reason = _verdict(node, results, summary, measured, why_nothing if ends_at_verify else "")
    if clock and verdict in ("ok", RESTART):
        verdict, reason = "not ok: clock", " ".join(filter(None, [clock, reason]))
    return {
        "node": node,
        "verdict": verdict,
        "reason": reason and f"{node}: {reason}",
        "restart": [str(one) for one in summary.get("restart_reasons") or ()],
        "release": summary.get("release"),
        "driver": summary.get("driver"),
        "cards": _of(summary, "cards_operational", "cards_wanted"),
        "firmware": summary.get("firmware"),
        "°C": summary.get("temperature_max_c"),
        "links": _links(summary),
        "pytorch": summary.get("torch"),
        "fabric": _fabric(fabric.get("provider") or summary.get("network"), measured),
        "all-reduce": _all_reduce(results.get("verify_all_reduce", {})),
    }


def _verdict(
    node: str,
    results: Mapping[str, Mapping[str, Any]],
    summary: Mapping[str, Any],
    measured: Mapping[str, Any],
    why_unverified: str,
) -> tuple[str, str | None]:
    for layer, result in results.items():
        if result.get("failed"):
            verdict = INCONCLUSIVE if _is_unknown(result) else f"FAILED in {layer}"
            return verdict, str(result.get("msg") or f"{NOT_KNOWN}.")
        if result.get("unreachable"):
            return f"FAILED in {layer}", f"unreachable: {result.get('msg', '')}"
    if measured.get("state") == NOT_OK:
        return "FAILED in the fabric", str(measured["reason"])
    if not summary:
        return _unverified(results, why_unverified)
    # Only in check mode: else a node with failed checks has failed before.
    if not summary.get("ok") and summary.get("driver") is None:
        return NOT_INSTALLED, None
    if not summary.get("ok"):
        return f"not ok: {summary.get('problems')} checks", None
    state = results.get("verify_all_reduce", {}).get("state", "succeeded")
    if late := _late(state, results.get("verify_all_reduce", {}), measured):
        return INCONCLUSIVE, late
    if state != "succeeded":
        return "FAILED in all-reduce", _ranks(state, results["verify_all_reduce"])
    # The choice of a network is the operator's: that another one is faster is told, and is no fault of the node.
    slower = [str(measured["reason"])] if measured.get("state") == SLOWER else []
    restart = _restart(node, summary)
    return RESTART if restart else "ok", " ".join([*restart, *slower]) or None


def _unverified(results: Mapping[str, Mapping[str, Any]], why: str) -> tuple[str, str | None]:
    """The verdict on a node of which no layer has failed, and that was not measured; ``why`` is empty where that was
    not asked for."""
    if results and not why:
        return APPLIED + ", ".join(results), None
    after = f"after {list(results)[-1]}" if results else "before preflight"
    return f"FAILED {after}", f"it stopped there: {why or f'{NOT_KNOWN}.'}"


def _restart(node: str, summary: Mapping[str, Any]) -> list[str]:
    """A sentence with the command, where what the layers have set is not in force before the next start."""
    reasons = "; ".join(str(reason) for reason in summary.get("restart_reasons") or ())
    if not reasons:
        return []
    command = f"ansible {node} -i INVENTORY --become -m ansible.builtin.reboot"
    return [f"restart required before jobs run on it: {reasons}; restart it (`{command}`), then run verify.yml."]


def _late(state: str, summed: Mapping[str, Any], measured: Mapping[str, Any]) -> str:
    """What of a node's measurements with others had not ended in its time; empty where nothing is left."""
    if state == RUNNING:
        again = "run verify.yml again with a larger gaudi_ranks_timeout"
        return f"its ranks had not finished when the all-reduce timed out; {again}{_logs(summed)}."
    own = [row for row in measured.get("rows") or () if row["provider"] == measured.get("chosen")]
    return str(measured["reason"]) if any(row.get("late") for row in own) else ""


def _ranks(state: str, summed: Mapping[str, Any]) -> str:
    """Why the ranks of an all-reduce did not come to its end, as far as they say it."""
    failure: Mapping[str, Any] = summed.get("failure") or {}
    why = str(failure.get("message") or "they do not say why").rstrip(".")
    return f"its ranks are {state}: {why}{_logs(summed)}."


def _logs(summed: Mapping[str, Any]) -> str:
    directory = summed.get("log_directory")
    return f"; their logs are in {directory} on the node" if directory else ""


def _is_unknown(result: Mapping[str, Any]) -> bool:
    """Whether all that speaks against the node is what nobody could tell."""
    checks = result.get("checks") or ()
    return bool(checks) and all(check.get("unknown") for check in checks)


def _of(summary: Mapping[str, Any], some: str, all_of_them: str) -> str | None:
    if summary.get(some) is None or summary.get(all_of_them) is None:
        return None
    return f"{summary[some]}/{summary[all_of_them]}"


def _links(summary: Mapping[str, Any]) -> str | None:
    both = (
        _of(summary, "internal_links_up", "internal_links_total"),
        _of(summary, "external_links_up", "external_links_total"),
    )
    return " + ".join(part for part in both if part) or None


def _fabric(provider: str | None, measured: Mapping[str, Any]) -> str | None:
    """The chosen network, and what it and the other one carried at the largest size."""
    figures = [
        f"{row['provider']} {rounded(row['sizes'][-1]['busbw_gb_per_s'])} GB/s"
        for row in measured.get("rows") or ()
        if row["sizes"]
    ]
    told = ", ".join(figures)
    return told if figures and told.startswith(f"{provider} ") else ", ".join(filter(None, [provider, told])) or None


def _all_reduce(result: Mapping[str, Any]) -> str | None:
    line = result.get("last_metrics") or {}
    if line.get("kind") == "collective":  # only the node of rank 0 has the figures
        return f"{line['world_size']} ranks, {rounded(line['busbw_gb_per_s'])} GB/s"
    return result.get("state")
