# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A tiny training is measured on one node and on two, and kept in a history; what is no figure is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox_nodes import Played

# A few short steps on shared cores vary by much.
FEW: dict[str, Any] = {
    "gaudi_benchmark_workloads": [{"name": "tiny", "size": "tiny"}],
    "gaudi_benchmark_batch_sizes": [2],
    "gaudi_benchmark_repeats": 2,
    "gaudi_benchmark_steps": 14,
    "gaudi_benchmark_warm_up": 2,
    "gaudi_benchmark_spread": 0.99,
    "gaudi_training_processes_per_node": 1,
}


def test_one_node_and_two_are_measured_and_kept(play: Callable[..., Played], reports: Path) -> None:
    history = reports / "history.jsonl"
    given = {**FEW, "gaudi_benchmark_history": str(history), "gaudi_report_target": str(reports)}
    done = play("benchmark_training", **given)
    assert done.status == "successful", done.screen
    assert "run 4 of 4: tiny, batch 2, " in done.screen
    kept = json.loads((reports / "benchmark_training.json").read_text(encoding="utf-8"))
    assert [(row["nodes"], row["verdict"]) for row in kept["rows"]] == [(1, "ok"), (2, "ok")]
    one, two = kept["data"]["benchmark_training"]
    assert (len(one["rates"]), two["efficiency"]["estimate"] > 0, one["unit"]) == (2, True, "tokens_per_second")
    lines = [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines()]
    assert [line["key"]["hosts"] for line in lines] == [["node1"], ["node1", "node2"]]
    assert all(line["key"]["driver"] and line["key"]["firmware"] and line["key"]["versions"]["torch"] for line in lines)
    page = (reports / "benchmark_training.html").read_text(encoding="utf-8")
    assert "No step in the history" in page and "Scaling efficiency" in page


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"gaudi_benchmark_repeats": 1}, "gaudi_benchmark_repeats is 1; give at least 2"),
        pytest.param(
            {"gaudi_benchmark_workloads": [{"name": "tiny", "size": "tiny", "precision": ["bf16", "fp32"]}]},
            "precision of tiny is bf16, fp32; a row has one precision",
            marks=pytest.mark.long,
        ),
    ],
)
def test_what_is_no_figure_is_refused_before_anything_runs(
    play: Callable[..., Played], tmp_path: Path, given: dict[str, Any], words: str
) -> None:
    refused = play("benchmark_training", **{**FEW, "gaudi_benchmark_history": str(tmp_path / "h"), **given})
    assert refused.status == "failed"
    assert words in " ".join(refused.messages)
    assert "run 1 of" not in refused.screen
