# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which firmware each node's cards had, and have."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._firmware.rounds import RACK
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.firmware_rows import (
    BEFORE,
    OUTCOME,
    RESULT,
    firmware_rows,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.node_reasons import node_reasons
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.untouched import UNTOUCHED


def upgrade_firmware_kind(asked: Asked) -> Made:
    targets = [shown.get("target") for shown in asked.results(BEFORE).values()]
    # An inventory may accept a version for the nodes alone.
    accepted = bool(asked.given["accepted"]) or any(targets)
    rows = firmware_rows(asked.hosts.values())
    untouched = UNTOUCHED if asked.check_mode else ""
    # A node has several rows where its cards differ.
    reasons = {str(row["node"]): str(row["reason"]) for row in reversed(rows) if row["reason"]}
    return Made(
        {
            "title": f"Card firmware{untouched if accepted else ' (no version accepted, nothing was changed)'}",
            "columns": ["node", "rack", "cards", "board", "before", "after" if accepted else "published", "state"],
            "rows": rows,
            "notes": node_reasons(rows),
        },
        {"nodes": {host: "failed" if host in reasons else "ok" for host in asked.hosts}},
        reasons=reasons,
    )


KIND = Kind((RACK, BEFORE, RESULT, OUTCOME), upgrade_firmware_kind)
