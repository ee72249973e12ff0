# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The search for bad nodes as a report: who is bad and why, and every measurement in its round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import rounded
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.hosts_file import hosts_file
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.junit import FAILED, PASSED, UNKNOWN, Case

SEARCHED = "gaudi_qualify_find_result"
OK, BAD, INCONCLUSIVE = "ok", "failed", "inconclusive"


def find_bad_nodes_kind(asked: Asked) -> Made:
    """What one task has found for all hosts."""
    found: Mapping[str, Any] = next(iter(asked.results(SEARCHED).values()), {})
    if "measured" not in found:
        said = asked.why_no_result(found, "The nodes were not measured.")
        title, refusal = "The search for faulty nodes", "" if asked.check_mode else said
        return Made({"title": title, "columns": ["node"], "rows": []}, {"ok": False}, refusal=refusal, cases=[])
    states = {host: _state(host, found) for host in asked.hosts}
    reasons = {host: _reason(host, found) for host, state in states.items() if state != OK}
    measured = [
        {
            "round": one["round"],
            "nodes": ", ".join(one["nodes"]) if len(one["nodes"]) < _MANY else f"all {len(one['nodes'])}",
            "GB/s": one["busbw_gb_per_s"],
            "why": one["why"],
        }
        for one in found["measured"]
    ]
    counted = f"{found['questions']} measurements in {found['rounds']} rounds"
    return Made(
        {
            "title": f"Faulty nodes: {counted}",
            "columns": ["node", "verdict"],
            "rows": [{"node": host, "verdict": state} for host, state in states.items()],
            "notes": [*(f"{host}: {why}" for host, why in reasons.items()), *_links(found)],
            "sections": [
                {
                    "title": "Measurements",
                    "columns": ["round", "nodes", "GB/s", "why"],
                    "rows": measured,
                    "on_screen": False,
                }
            ],
            "files": [hosts_file(found["good"], [], reasons, counted)] if found["good"] else [],
            "data": dict(found),
        },
        {"nodes": states, "good": [OK], "numbers": {"bad": len(found["bad"]), "questions": found["questions"]}},
        reasons={host: why for host, why in reasons.items() if states[host] == BAD},
        cases=[Case(host, "among others", _CASES[state], reasons.get(host, "")) for host, state in states.items()],
    )


_CASES = {OK: PASSED, BAD: FAILED, INCONCLUSIVE: UNKNOWN}
# More nodes in a group than a line has place for.
_MANY = 9


def _state(host: str, found: Mapping[str, Any]) -> str:
    if host in found["bad"]:
        return BAD
    return OK if host in found["good"] else INCONCLUSIVE


def _reason(host: str, found: Mapping[str, Any]) -> str:
    if host in found["bad"]:
        return f"{'; '.join(found['bad'][host])}, and a good group has {rounded(found['expected'])} GB/s."
    return str(found["unknown"].get(host, "it was not measured."))


def _links(found: Mapping[str, Any]) -> list[str]:
    return [
        f"{one} and {other} work with others but not with each other: check the connection between them"
        for one, other in found["links"]
    ]


KIND = Kind((SEARCHED,), find_bad_nodes_kind)
