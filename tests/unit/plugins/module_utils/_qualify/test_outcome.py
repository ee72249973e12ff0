# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.outcome import keep, read_outcome

NOW = datetime(2026, 11, 25, 3, 12, 44, tzinfo=timezone.utc)
FOUND = {"state": "healthy", "level": "quick", "stages": ["pairs"], "reasons": []}


def test_what_is_kept_has_the_nodes_time(tmp_path):
    path = str(tmp_path / "new" / "outcome.json")
    assert keep(FOUND, False, path, NOW)["changed"]
    assert read_outcome(path) == {**FOUND, "time": "2026-11-25T03:12:44Z"}


def test_check_mode_keeps_nothing(tmp_path):
    path = str(tmp_path / "outcome.json")
    assert "healthy" in keep(FOUND, True, path, NOW)["diff"][0]["after"]
    assert read_outcome(path) == {}


def test_what_cannot_be_read_is_none(tmp_path):
    path = tmp_path / "outcome.json"
    Path(path).write_text("[1]")
    assert read_outcome(str(path)) == {}
