# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The search for bad nodes over nodes that measure: what was asked, what it showed, and who is bad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_limit import Measured, evidence
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.bad_nodes import Groups, Rate, Told, find_bad
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.network import Over, bandwidth, told

JOB = "find-bad-nodes"


def search(nodes: Sequence[str], tolerance: float, expected: float, over: Over) -> dict[str, Any]:
    """What ``node_qualification`` returns of a search. A node whose ranks do not start is of those nobody can tell."""
    measured: list[dict[str, Any]] = []
    absent: dict[str, str] = {}
    late: dict[str, str] = {}
    ended: list[Measured] = []

    def measure(groups: Groups) -> list[Rate]:
        number = 1 + max((one["round"] for one in measured), default=0)
        results = over.measure(JOB, groups)
        rates = [bandwidth(result) for result in results]
        for group, rate, result in zip(groups, rates, results):
            measured.append({"round": number, "nodes": list(group), "busbw_gb_per_s": rate, "why": result.why})
            absent.update(dict.fromkeys(result.absent, f"its ranks did not start: {result.why}"))
            late.update(dict.fromkeys(group if result.late else (), f"with {' and '.join(group)}: {result.why}"))
        over.show(f"Round {number}: {told(groups, rates)}.")
        ended.extend(result.measured(group) for group, result in zip(groups, results))
        speaks = evidence(ended)[-len(results) :]
        return [Told.NOTHING if result.late and not bad else rate for rate, result, bad in zip(rates, results, speaks)]

    found = find_bad(nodes, measure, tolerance, expected)
    bad = {node: list(said) for node, said in found.bad.items() if node not in absent}
    unknown = {**{node: late.get(node, why) for node, why in found.unknown.items()}, **absent}
    return {
        "bad": bad,
        "links": [list(link) for link in found.links if not absent.keys() & {*link}],
        "unknown": unknown,
        "good": [node for node in nodes if node not in bad and node not in unknown],
        "questions": found.questions,
        "rounds": found.rounds,
        "expected": found.expected,
        "measured": measured,
    }
