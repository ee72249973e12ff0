# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which node probes next, and what all nodes can run; pure.

Nodes with the same key (``key.py``) are the same for a probe: one of them searches, and the others verify what all
kinds can run. The input is what ``hpu_batch_probe`` returned on each host, in the order of the hosts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

Results = Mapping[str, Mapping[str, Any]]

# A kind of which so many nodes have failed is left alone: it is hardly the node.
MOST_FAILURES = 2
NO_REASON = "no reason was given"


@dataclass(frozen=True)
class Plan:
    """``search``: nodes that look for the answer of their kind. ``verify``: those that shall try ``batch_size``."""

    search: tuple[str, ...]
    verify: tuple[str, ...]
    batch_size: int | None


def next_round(results: Results) -> Plan:
    """Search while a kind has no answer, then verify the least of the answers wherever none is known yet."""
    search = []
    for hosts in kinds(results).values():
        sound = [host for host in hosts if is_sound(results[host])]
        failures = sum(1 for host in hosts if results[host].get("failed"))
        if sound and failures < MOST_FAILURES and not any(map(has_answer, (results[host] for host in hosts))):
            search.append(sound[0])
    size = common_size(results)
    if search or size is None:
        return Plan(tuple(search), (), size)
    waiting = [host for host, result in results.items() if is_sound(result) and not has_answer(result)]
    return Plan((), tuple(waiting), size)


def kinds(results: Results) -> dict[str, list[str]]:
    """The hosts of each key, also those that failed since; without those that never answered."""
    found: dict[str, list[str]] = {}
    for host, result in results.items():
        if result.get("key"):
            found.setdefault(str(result["key"]), []).append(host)
    return found


def is_sound(result: Mapping[str, Any]) -> bool:
    return bool(result.get("key")) and not result.get("failed") and not result.get("unreachable")


def has_answer(result: Mapping[str, Any]) -> bool:
    return is_sound(result) and result.get("batch_size") is not None


def common_size(results: Results) -> int | None:
    """What all nodes with an answer can run."""
    return min((int(result["batch_size"]) for result in results.values() if has_answer(result)), default=None)


def outliers(results: Results) -> dict[str, str]:
    """Nodes that ran out of memory with what another node of their kind ran, with that in words."""
    found = {}
    for hosts in kinds(results).values():
        for host in (host for host in hosts if has_answer(results[host])):
            failed = _sizes(results[host], "out_of_memory")
            ran = {other: max(_sizes(results[other], "ok"), default=0) for other in hosts if other != host}
            best = max(ran, key=lambda other: ran[other], default=host)
            if failed and best != host and min(failed) <= ran[best]:
                found[host] = f"ran out of memory with {min(failed)}, and {best}, which is of its kind, ran {ran[best]}"
    return found


def _sizes(result: Mapping[str, Any], outcome: str) -> list[int]:
    return [int(trial["batch_size"]) for trial in result.get("trials") or [] if trial["outcome"] == outcome]


def without_answer(results: Results) -> dict[str, str]:
    """Why a node has none, by host."""
    reasons = {}
    for host, result in results.items():
        if not has_answer(result):
            reasons[host] = _reason(result, results)
    return reasons


def _reason(result: Mapping[str, Any], results: Results) -> str:
    said = " ".join(str(result.get("msg") or NO_REASON).split())
    if result.get("unreachable"):
        return f"cannot be reached: {said}"
    if not is_sound(result):
        return said
    failed = [other for other in kinds(results)[str(result["key"])] if results[other].get("failed")]
    return f"was not probed, since {' and '.join(failed)} of its kind failed" if failed else ""
