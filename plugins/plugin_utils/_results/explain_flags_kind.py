# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What each flag of the nodes is and does."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.flag_rows import flag_rows

FLAGS = "gaudi_flags_explain_result"


def explain_flags_kind(asked: Asked) -> Made:
    report = flag_rows(asked.results(FLAGS), list(asked.hosts))
    answered = report.pop("answered")
    reason = report["notes"][0] if report["notes"] else "gaudi_hosts matches no host."
    return Made(
        report,
        {
            "nodes": {host: "ok" if host in answered else "failed" for host in asked.hosts},
            "ok": bool(answered),
            "numbers": {"not_real": len({row["flag"] for row in report["rows"] if not row["real"]})},
        },
        refusal="" if answered else f"No node returned a result: {reason}",
    )


KIND = Kind((FLAGS,), explain_flags_kind)
