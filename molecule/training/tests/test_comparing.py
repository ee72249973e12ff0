# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A setting that helps is found and kept, and an unreal flag is refused before anything runs.

The nodes are as ``site.yml`` left them (scenario ``site``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from testinfra.host import Host

from tests.sandbox_nodes import Played
from tests.variables_of import variables_of

DIRECTORY = "/var/tmp/compared"
# How long a step takes is what a variable and an option say, so that the verdict is known beforehand.
SLEEPING = """
import os, time

def step(batch_size, device, slower=1.0):
    seconds = float(os.environ.get("STEP_SECONDS", "0.06")) * slower
    return lambda: time.sleep(seconds)
"""
SETTINGS = [
    {"name": "short", "flags": {"STEP_SECONDS": "0.03"}},
    {"name": "long", "options": {"slower": 2.0}},
]


@pytest.fixture
def compare(play: Callable[..., Played], nodes: dict[str, Host], reports: Path) -> Callable[..., Played]:
    nodes["node1"].check_output(f"mkdir -p {DIRECTORY} && cat > {DIRECTORY}/sleeping.py <<'END'{SLEEPING}END")
    nodes["node1"].check_output(f"echo PYTHONPATH={DIRECTORY} > {DIRECTORY}/environment")

    def run(**variables: object) -> Played:
        given = {
            "gaudi_batch_workload": "sleeping:step",
            "gaudi_training_environment_files": [f"{DIRECTORY}/environment"],
            "gaudi_compare_base": {"batch_size": 1},
            "gaudi_compare_settings": SETTINGS,
            "gaudi_compare_rounds": 3,
            "gaudi_compare_steps": 4,
            "gaudi_compare_warm_up": 1,
            "gaudi_report_target": str(reports),
        }
        return play("compare_settings", **{**given, **variables})

    return run


def test_what_helps_is_found_and_kept(compare: Callable[..., Played], reports: Path) -> None:
    compared = compare()
    assert compared.status == "successful", compared.screen
    assert "node1: run 1" in compared.screen
    rows = {row["setting"]: row for row in json.loads((reports / "compare_settings.json").read_text())["rows"]}
    assert {name: rows[name]["verdict"] for name in ("short", "long")} == {"short": "helps", "long": "hurts"}
    kept = variables_of((reports / "compare_settings.kept.yml").read_text())
    assert kept["gaudi_training_environment"] == {"STEP_SECONDS": "0.03"}
    assert "<svg" in (reports / "compare_settings.html").read_text()


@pytest.mark.long
def test_a_second_comparison_makes_no_run(compare: Callable[..., Played]) -> None:
    again = compare()
    assert (again.status, again.changed) == ("successful", 0), again.screen
    assert "node1: run" not in again.screen


def test_a_flag_that_nothing_reads_is_refused(compare: Callable[..., Played]) -> None:
    refused = compare(gaudi_compare_flags="PT_HPU_ENABLE_ADVANCED_FUSION=1")
    assert refused.status == "failed"
    assert "PT_HPU_ENABLE_ADVANCED_FUSION" in " ".join(refused.messages)
    assert "node1: run" not in refused.screen
