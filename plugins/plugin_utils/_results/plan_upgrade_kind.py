# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What stands in the way of another release, node by node."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.upgrade_report import upgrade_report

PLAN = "gaudi_upgrade_plan_result"


def plan_upgrade_kind(asked: Asked) -> Made:
    report = upgrade_report(asked.results(PLAN))
    in_the_way = sum(row.get("blockers") or 0 for row in report["rows"])
    notes = report["notes"] if report["states"] else ["No host was inspected; see gaudi_hosts and --limit."]
    return Made(
        {name: report[name] for name in ("title", "columns", "rows", "sections", "data")} | {"notes": report["notes"]},
        {
            "nodes": report["states"],
            "good": ["compatible", "unknown"],
            "ok": bool(report["data"]),
            "numbers": {"in_the_way": in_the_way},
        },
        refusal="" if report["data"] else notes[0],
    )


KIND = Kind((PLAN,), plan_upgrade_kind)
