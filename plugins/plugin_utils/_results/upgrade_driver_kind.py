# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How far each node came on its way to another release."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.node_reasons import node_reasons
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.untouched import UNTOUCHED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.upgrade_row import (
    RESULT,
    upgrade_failure,
    upgrade_row,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._upgrade.node_outcome import GOOD


def upgrade_driver_kind(asked: Asked) -> Made:
    results = asked.results(RESULT)
    # The nodes' own release, where an inventory says it and not the command.
    release = next(
        (str(result["release"]) for result in results.values() if "release" in result), asked.given["release"]
    )
    title = f"Planned upgrade to {release}{UNTOUCHED}" if asked.check_mode else f"Upgrade to {release}"
    rows = [upgrade_row(host) for host in asked.hosts.values()]
    return Made(
        {
            "title": title,
            "columns": ["node", "state", "before", "now"],
            "rows": rows,
            "notes": node_reasons(rows),
        },
        {"nodes": {row["node"]: row["state"] for row in rows}, "good": list(GOOD), "words": {"release": release}},
        reasons={host: reason for host, result in results.items() if (reason := upgrade_failure(result))},
    )


KIND = Kind((RESULT,), upgrade_driver_kind)
