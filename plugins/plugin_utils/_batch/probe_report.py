# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the probes of all nodes come to, as a report and as facts; pure."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

from ansible_collections.gaudi3.scale.plugins.module_utils._batch.choice import GlobalBatch
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.fingerprint import field_differences
from ansible_collections.gaudi3.scale.plugins.plugin_utils._batch.probe_chart import probe_charts
from ansible_collections.gaudi3.scale.plugins.plugin_utils._batch.probe_inventory import (
    Results,
    common_size,
    has_answer,
    kinds,
    outliers,
    without_answer,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.text_table import cell_text

COLUMNS = ("node", "verdict", "batch size", "how", "kind", "differs in")
TRIAL_COLUMNS = ("batch size", "outcome", "MiB", "of MiB", "ms a step", "samples/s", "message")
_NAMED = 3
_LONGEST = 90


def probe_report(
    results: Results, share: Callable[[int], GlobalBatch] | None = None, check_mode: bool = False
) -> dict[str, Any]:
    """Keys: batch_size (what all nodes can run, None: not known), global_batch, failures (by host), and what the action
    ``report`` takes: title, columns, rows, notes, sections, charts.
    """
    size = common_size(results)
    numbers = {key: number for number, key in enumerate(_by_size(results), start=1)}
    strange, failures = outliers(results), {host: why for host, why in without_answer(results).items() if why}
    searched = [host for host, result in results.items() if has_answer(result) and not result["verified"]]
    shared = None if size is None or share is None else share(size)
    return {
        "batch_size": size,
        "global_batch": None if shared is None else vars(shared),
        "failures": failures,
        "title": _title(size, results, check_mode),
        "columns": list(COLUMNS),
        "rows": [_row(host, result, numbers, strange, results) for host, result in results.items()],
        "notes": [
            *_limits(size, results, numbers),
            *(f"{host} {why}: {_cause(host, results)}" for host, why in strange.items()),
            *_without_outliers(size, strange, results),
            *reported_together(failures),
            *([_shared_sentence(shared)] if shared else []),
            *dict.fromkeys(
                f"{host}: {remark}" for host, result in results.items() for remark in result.get("remarks") or []
            ),
        ],
        "sections": [_section(host, results[host]) for host in searched],
        "charts": [chart for host in searched for chart in probe_charts(host, results[host])],
    }


def reported_together(failures: Mapping[str, str]) -> list[str]:
    """A sentence for every reason, after the nodes that gave it."""
    hosts: dict[str, list[str]] = {}
    for host, why in failures.items():
        hosts.setdefault(why, []).append(host)
    return [f"{', '.join(names)}: {why}" for why, names in hosts.items()]


def _by_size(results: Results) -> list[str]:
    """The keys, that of the most nodes first."""
    found = kinds(results)
    return sorted(found, key=lambda key: -len(found[key]))


def _title(size: int | None, results: Results, check_mode: bool) -> str:
    if size is None:
        return "No batch size is known" + (" (check mode: nothing was tried)" if check_mode else "")
    nodes = sum(map(has_answer, results.values()))
    return f"Batch size {size} on {nodes} node{'s' if nodes > 1 else ''}"


def _row(
    host: str,
    result: Mapping[str, Any],
    numbers: Mapping[str, int],
    strange: Mapping[str, str],
    results: Results,
) -> dict[str, object]:
    verdict = "ok" if has_answer(result) else "unreachable" if result.get("unreachable") else "failed"
    if verdict == "failed" and not result.get("failed"):
        verdict = "not probed"
    return {
        "node": host,
        "verdict": "outlier" if host in strange else verdict,
        "batch size": result.get("batch_size"),
        "how": _how(result) if has_answer(result) else None,
        "kind": numbers.get(str(result.get("key"))),
        "differs in": differs_in(host, results),
    }


def _how(result: Mapping[str, Any]) -> str:
    if result["verified"]:
        return f"verified: {result['why']}"
    trials = len(result["trials"])
    found = f"found in {trials} trial{'s' if trials > 1 else ''}"
    sure = "certified" if result["certified"] else _within(result["within"])
    return f"{found}{', known before' if result['cached'] else ''}, {sure}: {result['why']}"


def _within(part: float | None) -> str:
    return "not certified" if part is None else f"within {part:.1%} of the limit"


def differs_in(host: str, results: Results) -> str | None:
    """The fields in which a node is not as the most are; None where there is none, or none to compare with."""
    fields = {one: result["fields"] for one, result in results.items() if result.get("fields")}
    if host not in fields:
        return None
    found = [
        f"{one.field}: {cell_text(one.here)} instead of {cell_text(one.majority)}"
        for one in field_differences(host, fields)
        if 2 * one.having > one.nodes
    ]
    more = [f"and {len(found) - _NAMED} more"] if len(found) > _NAMED else []
    return "; ".join([*found[:_NAMED], *more]) or None


def _limits(size: int | None, results: Results, numbers: Mapping[str, int]) -> list[str]:
    """Which kind holds the others back."""
    best = {
        key: max(int(results[host]["batch_size"]) for host in hosts if has_answer(results[host]))
        for key, hosts in kinds(results).items()
        if any(has_answer(results[host]) for host in hosts)
    }
    searched = {key: most for key, most in best.items() if any(_found(results[host]) for host in kinds(results)[key])}
    if size is None or len(searched) < 2 or max(searched.values()) == size:
        return []
    least = [key for key, most in searched.items() if most == size]
    held = [f"kind {numbers[key]} could run {most}" for key, most in searched.items() if most > size]
    names = ", ".join(host for key in least for host in kinds(results)[key])
    return [f"{size} is what {names} can run; {', '.join(held)}"] if names else []


def _found(result: Mapping[str, Any]) -> bool:
    return has_answer(result) and not result["verified"]


def _cause(host: str, results: Results) -> str:
    """Why a node runs less than its equals, as far as its trials tell."""
    limits = {one: _limit(result) for one, result in results.items() if has_answer(result)}
    others = max((limit for one, limit in limits.items() if one != host), default=0)
    if results[host].get("remarks"):
        return " ".join(results[host]["remarks"])
    if limits[host] and others > 1.01 * limits[host]:
        return f"its trials had {_mib(limits[host])} MiB, those of others {_mib(others)} MiB"
    return "nothing that the key knows differs; explain_node.yml compares firmware, kernel and packages"


def _without_outliers(size: int | None, strange: Mapping[str, str], results: Results) -> list[str]:
    others = common_size({host: result for host, result in results.items() if host not in strange})
    if size is None or others is None or others <= size:
        return []
    names = " and ".join(strange)
    return [f"without {names} all could run {others}; once repaired, probe again with gaudi_batch_refresh=true"]


def _limit(result: Mapping[str, Any]) -> int:
    return min((trial["limit_bytes"] for trial in result["trials"] if trial["limit_bytes"]), default=0)


def _shared_sentence(shared: GlobalBatch) -> str:
    rate = "" if shared.learning_rate is None else f"; learning rate {quantity(shared.learning_rate)}"
    return (
        f"{shared.global_batch} samples a step: {shared.batch_size} a rank and pass, {shared.accumulation_steps} "
        f"passes, {shared.world_size} ranks{rate}"
    )


def _section(host: str, result: Mapping[str, Any]) -> dict[str, object]:
    return {
        "title": f"Trials on {host}",
        "columns": list(TRIAL_COLUMNS),
        "rows": [_trial_row(trial) for trial in result["trials"]],
        "notes": [f"{result['batch_size']}: {result['why']}"],
    }


def _trial_row(trial: Mapping[str, Any]) -> dict[str, object]:
    seconds = trial["step_seconds"]
    return {
        "batch size": trial["batch_size"],
        "outcome": trial["outcome"],
        "MiB": _mib(trial["peak_memory_bytes"]),
        "of MiB": _mib(trial["limit_bytes"]),
        "ms a step": None if not seconds else round(1000 * seconds, 2),
        "samples/s": None if not seconds else round(trial["batch_size"] / seconds, 1),
        "message": _short(trial["message"]),
    }


def _mib(size: int | None) -> int | None:
    return None if not size else round(size / (1 << 20))


def _short(message: str) -> str | None:
    lines: Sequence[str] = message.strip().splitlines()
    return lines[-1][:_LONGEST] if lines else None
