# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The report of ``probe_batch_size.yml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._batch.choice import GlobalBatch
from ansible_collections.gaudi3.scale.plugins.plugin_utils._batch.probe_report import probe_report
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Kind, Made

PROBED = "gaudi_batch_result"
OPTIONS = ("title", "columns", "rows", "notes", "sections", "charts")


def probe_batch_size_kind(asked: Asked) -> Made:
    """Of what the task for all hosts has registered on each of them."""
    found: Mapping[str, Any] = next(iter(asked.results(PROBED).values()), {"results": {}})
    shared = None if not found.get("global_batch") else GlobalBatch(**found["global_batch"])
    report = probe_report(found["results"], None if shared is None else lambda _size: shared, asked.check_mode)
    size = report["batch_size"]
    made = found.get("global_batch") or {"batch_size": size, "accumulation_steps": 1, "learning_rate": None}
    return Made(
        {**{name: report[name] for name in OPTIONS}, "data": list(found["results"].values())},
        {
            "nodes": {row["node"]: row["verdict"] for row in report["rows"]},
            "good": ["ok", "outlier"],
            "ok": size is not None and not report["failures"],
            "numbers": {name: made[name] for name in ("batch_size", "accumulation_steps", "learning_rate")},
        },
        reasons=report["failures"],
    )


KIND = Kind((PROBED,), probe_batch_size_kind)
