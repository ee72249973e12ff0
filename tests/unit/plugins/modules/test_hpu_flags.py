# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The module as Ansible calls it: arguments in, one JSON result out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.tests.unit.module_call import call


def run(root: Path, check_mode: bool = False, **arguments: Any) -> dict[str, Any]:
    places = {
        "path": str(root / "environment"),
        "recipe_cache": str(root / "cache"),
        "log_directory": str(root / "logs"),
    }
    return call("hpu_flags", check_mode, **{"release": "1.24.1", **places, **arguments})[0]


def test_writes_the_file_and_returns_what_it_says(tmp_path: Path) -> None:
    result = run(tmp_path, overrides={"PT_HPU_MAX_COMPOUND_OP_SIZE": 10})
    assert result["changed"] and result["path"] == str(tmp_path / "environment")
    assert {"flags", "findings", "directories", "diff"} <= set(result)
    assert [warning for warning in result["warnings"] if "PT_HPU_MAX_COMPOUND_OP_SIZE" in str(warning)]
    assert not run(tmp_path, overrides={"PT_HPU_MAX_COMPOUND_OP_SIZE": 10})["changed"]


def test_check_mode_changes_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, check_mode=True)["changed"]
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_flag_fails_with_the_findings(tmp_path: Path) -> None:
    result = run(tmp_path, overrides={"PT_HPU_POOL_STRATEGY": "OPTIMIZE_UTILIZATION"})
    assert result["failed"] and result["msg"].startswith("PT_HPU_POOL_STRATEGY: 'OPTIMIZE_UTILIZATION' is not a whole")
    assert result["findings"][0]["level"] == "error"
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_profile_is_refused(tmp_path: Path) -> None:
    result = run(tmp_path, profile="fast")
    assert result["failed"] and "value of profile must be one of" in result["msg"]
