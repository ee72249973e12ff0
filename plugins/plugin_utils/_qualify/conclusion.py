# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a qualification comes to: each node's verdict, the hosts of the next job, who stays out of service; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.results import (
    HEALTHY,
    INCONCLUSIVE,
    UNHEALTHY,
    WATCH,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.baseline import SAME, regressions
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.funnel import Found
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.network import as_json
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.stages import NodeVerdict, node_verdict


@dataclass(frozen=True)
class About:
    """What a figure hangs on, and when it was measured (UTC)."""

    level: str
    time: str
    device: str
    processes_per_node: int


def data_of(found: Found, about: About, spares: int) -> dict[str, Any]:
    """All that was measured, as the report keeps it."""
    verdicts = {node: node_verdict(stages, found.cards.get(node, {})) for node, stages in found.stages.items()}
    order = [node for node in (*found.ring, *verdicts) if verdicts[node].state == HEALTHY]
    healthy = list(dict.fromkeys(order))
    first_spare = max(1, len(healthy) - spares)
    return {
        "level": about.level,
        "time": about.time,
        "release": found.release,
        "device": about.device,
        "processes_per_node": about.processes_per_node,
        "seconds": {stage: round(seconds, 3) for stage, seconds in found.seconds.items()},
        "nodes": {node: _node(one) for node, one in verdicts.items()},
        "pairs": as_json(found.pairs),
        "links": {" ".join(sorted(link)): why for link, why in found.links.items()},
        "ring": {"hosts": list(found.ring), "busbw_gb_per_s": found.ring_busbw},
        "hosts": healthy[:first_spare],
        "spares": healthy[first_spare:],
        "left_out": {node: _reason(one) for node, one in verdicts.items() if one.state != HEALTHY},
        "notes": [],
    }


def held_against(data: Mapping[str, Any], baseline: Mapping[str, Any], most: float) -> dict[str, Any]:
    """The same with what has been lost against the baseline; one of something else is told, and not compared."""
    other = [name for name in SAME if baseline[name] != data[name]]
    if other:
        told = ", ".join(f"{name} {baseline[name]} and not {data[name]}" for name in other)
        return {
            **data,
            "notes": [f"Nothing was compared with the baseline, which was made with {told}; save a new one."],
        }
    lost = regressions(data, baseline, most)
    nodes = {
        name: {**node, "remarks": [*node["remarks"], *lost[name]], "action": node["action"] or WATCH}
        if name in lost
        else node
        for name, node in data["nodes"].items()
    }
    return {**data, "nodes": nodes}


def kept_out(data: Mapping[str, Any], share: float) -> tuple[list[str], str]:
    """The unhealthy nodes, or none of them and a sentence where they are more than ``share`` of all; none with 0."""
    if not share:
        return [], ""
    bad = [name for name, node in data["nodes"].items() if node["state"] == UNHEALTHY]
    most = max(1, int(share * len(data["nodes"])))
    if len(bad) <= most:
        return bad, ""
    return [], (
        f"{len(bad)} of {len(data['nodes'])} nodes are unhealthy, more than the {most} that "
        "gaudi_qualify_max_drained_fraction allows out of service, so none was taken out; check whether the nodes are "
        "at fault, then raise it."
    )


def _node(one: NodeVerdict) -> dict[str, Any]:
    return {
        "state": one.state,
        "action": one.action,
        "reasons": list(one.reasons),
        "remarks": list(one.remarks),
        "stages": {
            name: {
                "state": stage.state,
                "reasons": list(stage.reasons),
                "remarks": list(stage.remarks),
                "figures": dict(stage.figures),
            }
            for name, stage in one.stages.items()
        },
        "cards": {card: dict(figures) for card, figures in one.cards.items()},
    }


def _reason(one: NodeVerdict) -> str:
    silent = "nothing was measured on it." if one.state == INCONCLUSIVE else ""
    return " ".join(one.reasons) or silent
