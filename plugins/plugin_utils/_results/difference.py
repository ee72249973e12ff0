# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How one node differs from its group's majority, as a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import generation_named
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.fingerprint import (
    differences,
    equal_fields,
    passing_fields,
)

COLUMNS = ("field", "majority", "nodes with it", "this node")

_NO_MAJORITY = (
    "if half of the nodes or fewer have a value, there is no majority, and the most common other value is shown"
)


def node_difference(
    results: Mapping[str, Mapping[str, Any]], node: str, same_generation: bool = True
) -> dict[str, Any]:
    """What ``gaudi3.scale.report`` shows: title, columns, rows, notes.

    ``results`` has what the module ``hpu_upgrade_plan`` returned for each host. Its group are the hosts with cards of
    the same generation, or all of them. Raises :class:`GaudiError` where nothing is known of the node.
    """
    facts = {host: result["facts"] for host, result in results.items() if "facts" in result}
    if node not in facts:
        result = results.get(node, {})
        why = "unreachable" if result.get("unreachable") else "not inspected"
        raise GaudiError(
            f"Nothing is known about {node}: it was {why} ({str(result.get('msg') or 'no reason given').strip()}); "
            "check that it is in gaudi_hosts and reachable, and run again."
        )
    group = {
        host: one
        for host, one in facts.items()
        if not same_generation or one["generations"] == facts[node]["generations"]
    }
    found = differences(node, group)
    return {
        "title": f"How {node} differs from the majority of its group",
        "columns": list(COLUMNS),
        "rows": [
            {
                "field": one.field,
                "majority": one.majority,
                "nodes with it": f"{one.having} of {one.nodes}",
                "this node": one.here,
            }
            for one in found
        ],
        "notes": [
            _sentence(node, facts[node], len(group), len(found), same_generation),
            *([_NO_MAJORITY] if any(2 * one.having <= one.nodes for one in found) else []),
            *_left_out(results, group),
        ],
    }


def _sentence(node: str, facts: Mapping[str, Any], nodes: int, found: int, same_generation: bool) -> str:
    kind = _kind(facts) if same_generation else ""
    if nodes == 1:
        return f"{node} is the only node{kind} that responded: there is nothing to compare it with."
    fields = len(equal_fields(facts)) + len(passing_fields(facts))
    if not found:
        return f"{node} is like the majority of the {nodes} nodes{kind} in all of its {fields} fields."
    return f"{node} differs from the majority of the {nodes} nodes{kind} in {found} field{'s' if found > 1 else ''}."


def _kind(facts: Mapping[str, Any]) -> str:
    generations = [generation_named(name) for name in facts["generations"]]
    return f" with {' and '.join(one.label for one in generations if one)} cards" if generations else " without cards"


def _left_out(results: Mapping[str, Mapping[str, Any]], group: Mapping[str, object]) -> list[str]:
    silent = [host for host, result in results.items() if "facts" not in result]
    others = [host for host in results if host not in group and host not in silent]
    sentences = []
    if silent:
        sentences.append(f"not compared, because they did not respond: {', '.join(silent)}")
    if others:
        sentences.append(f"not compared, because their cards are of another generation: {', '.join(others)}")
    return sentences
