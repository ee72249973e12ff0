# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._audit.not_measured import NOT_MEASURED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.audit_cluster_kind import (
    AUDITED,
    audit_cluster_kind,
)

FOUND = {
    "answers": [],
    "not_measured": [{"asked": list(one.lists), "why": one.why, "instead": one.instead} for one in NOT_MEASURED],
}


def test_what_is_not_measured_is_told_in_words_and_not_in_markdown():
    made = audit_cluster_kind(Asked({"n1": {AUDITED: FOUND}}, {}, False))
    (section,) = made.options["sections"]
    asked = [row["asked"] for row in section["rows"]]
    assert "Memory Management: Achieve >90% HPU memory utilization" in asked[0]
    assert any("Build Time, <10 min, Docker images" in words for words in asked)
    assert not any(mark in words for words in asked for mark in ("**", " | ", "; - ", "2. "))
