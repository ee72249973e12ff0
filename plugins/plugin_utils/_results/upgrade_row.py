# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One node's line in the table at the end of ``upgrade_driver.yml``, from what the playbook kept of it."""

from __future__ import annotations

from typing import Any, Mapping

# What upgrade_driver.yml keeps on a host.
RESULT = "upgrade_result"


def upgrade_row(host: Mapping[str, Any]) -> dict[str, object]:
    """The row of a node with the variables ``host``; ``reason`` is None, or a sentence about what went wrong."""
    result = host.get(RESULT)
    node = host["inventory_hostname"]
    if not isinstance(result, Mapping):
        return {"node": node, "state": "not reached", "before": None, "now": None, "reason": None}
    state, before = str(result.get("state")), result.get("from") or None
    arrived = state in ("upgraded", "downgraded", "installed", "unchanged", "drained")
    reason = str(result.get("reason") or "").partition("\n")[0]
    return {
        "node": node,
        "state": state,
        "before": before,
        "now": result.get("to") if arrived else before if state in ("rolled_back", "refused") else None,
        "reason": f"{node}: {reason}" if reason else None,
    }
