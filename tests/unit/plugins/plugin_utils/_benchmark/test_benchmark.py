# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A benchmark from its options to its result, over nodes that answer as ours do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.action.training_benchmark import ARGUMENTS
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.benchmark import measured, planned, read
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.runs import Where
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_jobs import Ranks
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.kinds import KINDS

GIVEN: dict[str, Any] = {
    "hosts": ["n1", "n2"],
    "nodes": [1, 2],
    "workloads": [{"name": "w", "size": "tiny"}],
    "batch_sizes": [4],
    "repeats": 3,
    "steps": 30,
    "device": "cpu",
    "processes_per_node": 2,
}
INFO = {"hpu": {"driver": {"version": "1.24.1-b3", "release": "1.24.1"}, "firmware": {"spi": ["1.22"]}}}


def options(**other: Any) -> dict[str, Any]:
    return {**{name: about.get("default") for name, about in ARGUMENTS.items()}, **GIVEN, **other}


class Nodes:
    """Nodes whose ranks tell 1000 tokens/s each, over two nodes nine tenths of it; ``other`` is told instead."""

    def __init__(self, speed: float = 1.0, **other: Any) -> None:
        self.speed, self.other = speed, other
        self.jobs: list[list[str]] = []

    def ask(self, module: str, arguments: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        if module.endswith("hpu_info"):
            return {host: self.other.get("info", INFO) for host in arguments}
        if module.endswith("training_job"):
            self.jobs.append(list(arguments))
            return {host: {"state": "running", "changed": True} for host in arguments}
        state = self.other.get("state", "succeeded")
        return {host: {"state": state, "metrics": self.lines(), "failure": None} for host in arguments}

    def lines(self) -> list[dict[str, Any]]:
        nodes = len(self.jobs[-1])
        rate = 2000.0 * nodes * (0.9 if nodes > 1 else 1.0) * self.speed * (1 + 0.002 * (len(self.jobs) % 3))
        start = {"kind": "start", "world_size": 2 * nodes, "precision": "fp32", "flags": {}, "versions": {}}
        steps = [
            {"kind": "step", "step": step, "tokens_per_second": rate, "seconds": {"step": 0.1}, "memory_bytes": 1 << 30}
            for step in range(1, 31)
        ]
        told = [{**start, **self.other.get("start", {})}, *steps, {"kind": "end", "step": 30}]
        return self.other.get("lines", told)


def run(among: Nodes, said: list[str] | None = None, **other: Any) -> dict[str, Any]:
    where = Where(["n1", "n2"], {"n1": "10.0.0.1", "n2": "10.0.0.2"}, Ranks("cpu", 2, 29500, 60, {}))
    return measured(read(options(**other)), where, among.ask, (said if said is not None else []).append)


def page(found: Mapping[str, Any], check_mode: bool = False) -> Made:
    return KINDS["benchmark_training"].made(Asked({"n1": {"gaudi_benchmark_result": found}, "n2": {}}, {}, check_mode))


def test_each_row_has_its_rate_and_its_scaling_with_intervals() -> None:
    said: list[str] = []
    nodes = Nodes()
    found = run(nodes, said)
    one, two = found["figures"]
    assert one["rate"]["estimate"] == pytest.approx(2000, rel=0.01) and one["efficiency"] is None
    assert two["rate"]["estimate"] == pytest.approx(3600, rel=0.01)
    assert two["efficiency"]["low"] < 0.9 < two["efficiency"]["high"]
    assert (one["steps"], one["key"]["release"], two["key"]["hosts"]) == (["11 to 30"] * 3, ["1.24.1"], ["n1", "n2"])
    assert sorted(map(len, nodes.jobs)) == [1, 1, 1, 2, 2, 2]
    assert said[0].startswith("run 1 of 6: w, batch 4, ") and said[0].endswith("tokens/s over steps 11 to 30")


def test_the_page_has_the_rows_the_method_and_what_it_was_measured_with() -> None:
    made = page(run(Nodes()))
    assert made.refusal == ""
    row = made.options["rows"][1]
    assert (row["nodes"], row["ranks"], row["verdict"], row["memory"]) == (2, 4, "ok", "1,024 MiB")
    assert row["efficiency"].startswith("90.")
    notes = " ".join(made.options["notes"])
    assert "3 runs per row" in notes and "release: 1.24.1; driver: 1.24.1-b3; firmware: 1.22" in notes
    assert made.outcome["numbers"] == {"figures": 2, "slower": 0, "steps": 0}


def test_the_history_goes_on_and_a_slower_driver_is_its_step(tmp_path: Path) -> None:
    history = str(tmp_path / "history.jsonl")
    newer = {"hpu": {"driver": {"version": "1.25.0-b1", "release": "1.25.0"}, "firmware": {"spi": ["1.22"]}}}
    for _time in range(2):
        assert not any(one["steps"] for one in run(Nodes(), history=history)["history"])
    found = run(Nodes(0.9, info=newer), history=history)
    assert [len(one["entries"]) for one in found["history"]] == [3, 3]
    assert [step["cause"] for one in found["history"] for step in one["steps"]] == [
        "release 1.24.1 to 1.25.0; driver 1.24.1-b3 to 1.25.0-b1"
    ] * 2
    made = page(found)
    assert [row["change"] for row in made.options["sections"][0]["rows"]] == ["-10.0%"] * 2
    assert made.options["charts"][0]["series"][0]["points"][0] == [1.0, 1.0]


def test_a_history_that_cannot_be_written_in_the_end_costs_no_figure(tmp_path: Path) -> None:
    benchmark = read(options(history=str(tmp_path / "history.jsonl")))
    (tmp_path / "history.jsonl").mkdir()
    where = Where(["n1", "n2"], {"n1": "a", "n2": "b"}, Ranks("cpu", 2, 29500, 60, {}))
    found = measured(benchmark, where, Nodes().ask, lambda _line: None)
    assert found["figures"][0]["rates"] and "could not be written" in found["remarks"][0]


def test_what_is_slower_than_the_baseline_fails_the_play() -> None:
    kept = {"data": page(run(Nodes())).options["data"]}
    same = page(run(Nodes(), baseline=kept, baseline_file="b.json"))
    assert same.refusal == "" and same.options["rows"][0]["verdict"] == "ok (+0.0%)"
    slower = page(run(Nodes(0.8), baseline=kept, baseline_file="b.json"))
    assert "w, batch 4, 1 node is 20.0% slower than in b.json" in slower.refusal
    assert slower.options["rows"][0]["verdict"] == "slower (-20.0%)"


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"state": "failed"}, "its ranks on n1 are failed"),
        ({"start": {"world_size": 1}}, "it ran with 1 ranks instead of "),
        ({"start": {"precision": "bf16-mixed"}}, "it ran in bf16-mixed, and the row is of fp32; mixed precisions"),
        ({"lines": [{"kind": "start", "world_size": 2}]}, "told neither tokens nor samples"),
        ({"lines": []}, "rank 0 on n1 told no start"),
        ({"lines": [{"kind": "start", "world_size": "two"}]}, "answered training_job_info with an invalid result"),
    ],
)
def test_a_run_of_another_kind_has_no_figure_and_the_reason(other: dict[str, Any], words: str) -> None:
    said: list[str] = []
    found = run(Nodes(**other), said, nodes=[1])
    assert len(said) == 1, "what fails once is not repeated"
    assert words in found["figures"][0]["why"] and not found["figures"][0]["rates"]
    made = page(found)
    assert words in made.refusal and made.options["rows"][0]["verdict"] == "no figure"


def test_a_node_that_says_nothing_ends_it_before_the_first_run() -> None:
    nodes = Nodes(info={"unreachable": True, "msg": "timed out"})
    with pytest.raises(GaudiError, match="n1 did not say what it has: timed out"):
        run(nodes)
    assert nodes.jobs == []


OLD = {"case": {"workload": "w", "batch_size": 4, "nodes": 1}, "unit": "tokens_per_second"}


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"repeats": 1}, "repeats is 1; give at least 2"),
        ({"baseline": '{"hosts": {}}'}, "baseline: the baseline is of another kind"),
        ({"baseline": "not JSON"}, "baseline: the baseline is of another kind"),
        ({"baseline": {"data": {"benchmark_training": [{**OLD, "rates": [1.0]}]}}}, "has a figure of 1 run of w"),
        ({"baseline": {"data": {"benchmark_training": []}}}, "has none of these workloads"),
        (
            {"baseline": {"data": {"benchmark_training": [{**OLD, "rates": [1.0, 2.0]}]}}},
            "has w with definition None, and this benchmark with",
        ),
        ({"baseline": {"data": {}}, "tolerance": 1.0}, "tolerance is 1; give a fraction"),
        ({"history": "s3://b/h"}, "history is s3://b/h, to which nothing can be appended"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_any_node_is_asked(other: dict[str, Any], words: str) -> None:
    with pytest.raises(GaudiError) as refused:
        read(options(**other))
    assert words in str(refused.value)


def test_a_baseline_of_another_precision_is_named() -> None:
    figures = page(run(Nodes())).options["data"]["benchmark_training"]
    other = [{**one, "case": {**one["case"], "precision": "bf16"}} for one in figures]
    with pytest.raises(GaudiError, match="has w with precision bf16, and this benchmark with fp32"):
        read(options(baseline={"data": {"benchmark_training": other}}))


def test_check_mode_shows_the_rows_and_refuses_nothing() -> None:
    made = page(planned(read(options())), check_mode=True)
    assert made.refusal == "" and len(made.options["rows"]) == 2
    assert made.options["title"].endswith("(check mode: nothing was measured)")
