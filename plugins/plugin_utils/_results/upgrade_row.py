# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One node's line in the table at the end of an upgrade, from what the role kept of it."""

from __future__ import annotations

from typing import Any, Mapping

from ansible_collections.gaudi3.scale.plugins.plugin_utils._upgrade.node_outcome import GOOD

# What the role gaudi_upgrade keeps on a host.
RESULT = "gaudi_upgrade_result"


def upgrade_row(host: Mapping[str, Any]) -> dict[str, object]:
    """The row of a node with the variables ``host``; ``reason`` is None, or a sentence about what went wrong."""
    result = host.get(RESULT)
    node = host["inventory_hostname"]
    if not isinstance(result, Mapping):
        return {"node": node, "state": "not reached", "before": None, "now": None, "reason": None}
    state, before = str(result.get("state")), result.get("from") or None
    arrived = state in (*GOOD, "drained")
    reason = str(result.get("reason") or "").partition("\n")[0]
    return {
        "node": node,
        "state": state,
        "before": before,
        "now": result.get("to") if arrived else before if state in ("rolled_back", "refused") else None,
        "reason": f"{node}: {reason}" if reason else None,
    }


def upgrade_failure(result: Mapping[str, Any]) -> str:
    """What a play fails with on a node with this result; nothing where the node is at the release."""
    if "state" not in result or result["state"] in GOOD:
        return ""
    return f"{result['state']}: {str(result.get('reason') or '').partition(chr(10))[0]}"
