# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A tiny training is measured on nodes, and kept in a history; what is no figure is refused."""

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


@pytest.mark.parametrize(
    "nodes", [pytest.param([2], id="two"), pytest.param([1, 2], id="one and two", marks=pytest.mark.long)]
)
def test_nodes_are_measured_and_kept(play: Callable[..., Played], reports: Path, nodes: list[int]) -> None:
    """With the fewest nodes beside them, others have a scaling efficiency."""
    history = reports / f"history-{len(nodes)}.jsonl"
    own = {"gaudi_benchmark_nodes": nodes, "gaudi_benchmark_history": str(history)}
    done = play("benchmark_training", **FEW, **own, gaudi_report_target=str(reports))
    assert done.status == "successful", done.screen
    runs = 2 * len(nodes)
    assert f"run {runs} of {runs}: tiny, batch 2, " in done.screen
    kept = json.loads((reports / "benchmark_training.json").read_text(encoding="utf-8"))
    assert [(row["nodes"], row["verdict"]) for row in kept["rows"]] == [(count, "ok") for count in nodes]
    figures = kept["data"]["benchmark_training"]
    assert [(len(one["rates"]), one["unit"]) for one in figures] == [(2, "tokens_per_second")] * len(nodes)
    assert [bool(one["efficiency"]) for one in figures] == [False, *[True] * (len(nodes) - 1)]
    lines = [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines()]
    assert [line["key"]["hosts"] for line in lines] == [["node1", "node2"][:count] for count in nodes]
    assert all(line["key"]["driver"] and line["key"]["firmware"] and line["key"]["versions"]["torch"] for line in lines)
    page = (reports / "benchmark_training.html").read_text(encoding="utf-8")
    assert "no step in the history: 1 benchmark in " in page and ("Scaling efficiency" in page) == (len(nodes) > 1)


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
