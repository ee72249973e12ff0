# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a person changed in the flag file: told, shown and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._flags.profiles import EnvironmentOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.state import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.hand_edits import find_edit, record_of


def options(root: Path, **more: Any) -> EnvironmentOptions:
    places = {
        "path": str(root / "environment"),
        "recipe_cache": str(root / "recipes"),
        "log_directory": str(root / "logs"),
        "unit_directory": str(root / "units"),
    }
    return EnvironmentOptions(**{"release": "1.24.1", "venv": "", **places, **more})


def run(root: Path, check_mode: bool = False, **more: Any) -> Any:
    return converge(options(root, **more), check_mode)


def test_an_edit_is_told_shown_and_kept(tmp_path: Path) -> None:
    run(tmp_path)
    path = tmp_path / "environment"
    edited = path.read_text() + "# mine\nPT_HPU_METRICS_FILE=/tmp/m.json\n"
    path.write_text(edited)
    checked = run(tmp_path, check_mode=True)
    assert checked["hand_edit"] == ["+PT_HPU_METRICS_FILE=/tmp/m.json"] and checked["backup"] == ""
    assert path.read_text() == edited
    result = run(tmp_path)
    assert result["hand_edit"] == ["+PT_HPU_METRICS_FILE=/tmp/m.json"]
    assert [entry["after_header"].split(" (")[-1] for entry in result["diff"]] == [
        "edited by hand since)",
        "mode 0644)",
    ]
    assert Path(result["backup"]).read_text() == edited
    assert result["warnings"] == [
        (
            f"{path} was edited by hand (+PT_HPU_METRICS_FILE=/tmp/m.json); the previous file is kept as "
            f"{result['backup']}; put what should stay into overrides."
        )
    ]
    again = run(tmp_path)
    assert not again["changed"] and again["hand_edit"] == [] and again["warnings"] == []


def test_an_edit_that_became_an_override_needs_no_copy(tmp_path: Path) -> None:
    overrides = {"PT_HPU_METRICS_FILE": "/tmp/m.json"}
    run(tmp_path / "other", overrides=overrides)
    run(tmp_path)
    wanted = (tmp_path / "other" / "environment").read_text().replace(str(tmp_path / "other"), str(tmp_path))
    (tmp_path / "environment").write_text(wanted)
    result = run(tmp_path, overrides=overrides)
    assert not result["changed"] and result["hand_edit"] == []
    assert find_edit(str(tmp_path / "environment"), "#") is None


def test_a_file_of_a_person_is_kept_and_one_of_an_older_release_is_not(tmp_path: Path) -> None:
    (tmp_path / "environment").write_text("OMP_NUM_THREADS=8\n")
    assert run(tmp_path)["hand_edit"] == ["+OMP_NUM_THREADS=8"]
    Path(record_of(str(tmp_path / "environment"))).unlink()
    assert run(tmp_path, overrides={"LOG_LEVEL_ALL": 3})["hand_edit"] == []


def test_a_removed_file_is_written_again(tmp_path: Path) -> None:
    run(tmp_path)
    (tmp_path / "environment").unlink()
    result = run(tmp_path)
    assert result["changed"] and result["hand_edit"] == []
