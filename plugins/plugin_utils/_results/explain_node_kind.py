# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""In what a node differs from the others."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.difference import node_difference
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.plan_upgrade_kind import PLAN


def explain_node_kind(asked: Asked) -> Made:
    node = str(asked.given["node"])
    report = node_difference(asked.results(PLAN), node, bool(asked.given.get("same_generation", True)))
    outcome = {"ok": True, "numbers": {"differences": len(report["rows"])}, "words": {"node": node}}
    return Made(report, outcome)


KIND = Kind((PLAN,), explain_node_kind)
