# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The verdict on each node, of what its layers, its facts and its measurements say."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import FACTS, Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.benchmark_fabric_kind import MEASURED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.clock_rows import clocks_of, judge_clocks
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.node_reasons import node_reasons
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.untouched import UNTOUCHED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.verdict_row import (
    APPLIED,
    LAYERS,
    RESTART,
    result_of,
    verdict_row,
)

COLUMNS = (
    "node",
    "verdict",
    "release",
    "driver",
    "cards",
    "firmware",
    "°C",
    "links",
    "pytorch",
    "fabric",
    "all-reduce",
)
LEGEND = (
    "links are those between the cards, then those out of the node",
    "all-reduce is a checked sum over all ranks, and its bus bandwidth",
)


def verdict_kind(asked: Asked) -> Made:
    """``given``: the hosts that ``failed`` in an earlier play, whether this run has ``verified`` its nodes (default: it
    has), and further values for each row."""
    further = {"failed": (), "verified": True, **asked.given}
    failed, verified = further.pop("failed"), further.pop("verified")
    clocks = judge_clocks(clocks_of(asked.results(result_of("verify"))))
    rows = [
        verdict_row(
            host,
            clocks.off.get(node, ""),
            ends_at_verify=verified or node in failed,
            why_nothing=asked.why_nothing(node),
        )
        for node, host in asked.hosts.items()
    ]
    return Made(
        {
            "title": f"What was found{UNTOUCHED}" if asked.check_mode else "Verdict",
            "columns": COLUMNS,
            "rows": [{**row, **further} for row in rows],
            "notes": [*node_reasons(rows), *clocks.notes, *LEGEND],
        },
        {
            "nodes": {row["node"]: row["verdict"] for row in rows},
            "good": ["ok", RESTART, *(row["verdict"] for row in rows if str(row["verdict"]).startswith(APPLIED))],
            "words": {"restart_nodes": [row["node"] for row in rows if row["verdict"] == RESTART]},
        },
    )


KIND = Kind((FACTS, MEASURED, *map(result_of, LAYERS)), verdict_kind)
