# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Two nodes tune one training together: real trials, one study, a report and a file that a launch takes.

The nodes are as ``site.yml`` left them (scenario ``site``).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.sandbox_nodes import hosts, run

STUDY = {
    "tune_name": "molecule",
    "tune_trials": 4,
    "tune_steps": 10,
    "tune_pruner": "none",
    "tune_probe": False,
    "tune_space": {
        "batch_size": {"low": 8, "high": 32, "step": 8},
        "accumulation": None,
        "checkpointing": [False, True],
        "compile": None,
        "workers": None,
    },
    "tune_follow_interval": 2,
    "training_processes_per_node": 1,
    "training_model": {"layers": 1, "width": 32, "heads": 2, "sequence_length": 32},
}
DIRECTORY = "/var/lib/gaudi3_scale/tune/molecule"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


def messages(result: object) -> str:
    failed = [event["event_data"]["res"] for event in result.events if event["event"] == "runner_on_failed"]
    return " ".join(str(res.get("msg", "")) for res in failed)


def test_a_flag_that_nothing_reads_is_refused_before_anything_is_there(tmp_path: Path) -> None:
    flags = {"PT_HPU_ENABLE_ADVANCED_FUSION": ["1"]}
    refused = run(tmp_path, "tune_training", **{**STUDY, "tune_name": "refused", "tune_flags": flags})
    assert refused.status == "failed"
    assert "PT_HPU_ENABLE_ADVANCED_FUSION must not be set" in messages(refused)
    assert not hosts()["node1"].file("/var/lib/gaudi3_scale/tune/refused").exists


def test_both_nodes_work_and_the_best_is_a_file_for_the_launch(tmp_path: Path, reports: Path) -> None:
    tuned = run(tmp_path, "tune_training", gaudi_report_target=str(reports), **STUDY)
    screen = tuned.stdout.read()
    assert tuned.status == "successful", screen
    assert "done 4 of 4" in screen
    told = json.loads((reports / "tune-molecule.json").read_text())
    assert [row["state"] for row in told["sections"][0]["rows"]] == ["ok", "ok"]
    assert sum(row["outcome"] == "ok" for row in told["rows"]) >= 4
    best = yaml.safe_load((reports / "tune-molecule-best.yml").read_text())
    fastest = max(told["rows"], key=lambda row: row["tokens/s"])
    assert best["training_batch_size"] == fastest["batch_size"]
    arguments = best["training_arguments"]
    following = arguments[arguments.index("--checkpointing") + 1 :]
    assert (following[:1] != ["off"]) == fastest["checkpointing"]
    page = (reports / "tune-molecule.html").read_text()
    assert 'class="plotly-graph-div"' in page
    # What a trial leaves behind is nothing.
    assert [node.run(f"ls {DIRECTORY}/trials").stdout for node in hosts().values()] == ["", ""]


def test_a_study_that_has_its_trials_is_only_shown(tmp_path: Path, reports: Path) -> None:
    again = run(tmp_path, "tune_training", gaudi_report_target=str(reports), **STUDY)
    assert again.status == "successful", again.stdout.read()
    assert sum(again.stats["changed"].values()) == 0
