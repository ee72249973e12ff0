# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of jobs: what runs and what ended lately, whatever their account has written."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.exposition import text_of
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.job_families import job_families
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.job_readings import (
    MOST_JOBS,
    SHOWN_SECONDS,
    read_jobs,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from prometheus_client.parser import text_string_to_metric_families

NOW = 1_800_000_000.0
STEP = {
    "kind": "step",
    "time": NOW - 5,
    "step": 120,
    "max_steps": 500,
    "loss": 3.25,
    "tokens_per_second": 1.5e6,
    "seconds": {"step": 0.4, "data": 0.03},
}


@dataclass
class Node:
    """Jobs of a node, and systemd's word for those that run."""

    root: Path
    running: set[str] = field(default_factory=set)
    calls: list[tuple[str, ...]] = field(default_factory=list)

    def job(self, name: str, *lines: Mapping[str, Any] | str, ended: float | None = None, restarts: int = 0) -> None:
        control, directory, logs = (self.root / place / name for place in ("state/control", "state/jobs", "logs/jobs"))
        for place in (control, directory, logs):
            place.mkdir(parents=True)
        (control / "job.json").write_text(json.dumps({"engine": "torchrun", "user": "gaudi"}))
        (control / "started.json").write_text(json.dumps({"time": NOW - 600, "launch": "a"}))
        (directory / "status.json").write_text(json.dumps({"time": NOW, "restarts": restarts}))
        text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
        (logs / "metrics.jsonl").write_text(text)
        if ended is None:
            self.running.add(name)
        else:
            record = {"time": ended, "result": "exit-code", "code": "exited", "status": "1"}
            (directory / "ended.json").write_text(json.dumps(record))
            os.utime(directory / "ended.json", (ended, ended))

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        self.calls.append(tuple(argv))
        if "*" in argv[2]:
            units = [f"Id=gaudi3-scale-job-{name}.service\nActiveState=active\n" for name in self.running]
            return CommandResult(0, "\n".join(units), "")
        name = argv[2].removeprefix("gaudi3-scale-job-").removesuffix(".service")
        return CommandResult(0, f"ActiveState={'active' if name in self.running else 'inactive'}\n", "")

    def metrics(self) -> dict[str, dict[str, float]]:
        """Metric -> job -> value."""
        jobs = read_jobs(self, str(self.root / "state"), str(self.root / "logs"), NOW)
        found: dict[str, dict[str, float]] = {}
        for family in text_string_to_metric_families(text_of(job_families(jobs))):
            for sample in family.samples:
                found.setdefault(sample.name, {})[sample.labels["training"]] = sample.value
        return found


def test_a_job_tells_where_it_is(tmp_path: Path) -> None:
    node = Node(tmp_path)
    checkpoint = {"kind": "checkpoint", "time": NOW - 60, "step": 100}
    node.job("llama", {"kind": "start", "time": NOW - 500}, checkpoint, {**STEP, "step": 119}, STEP, restarts=2)
    assert node.metrics() == {
        "gaudi_job_info": {"llama": 1},
        "gaudi_job_running": {"llama": 1},
        "gaudi_job_started_timestamp_seconds": {"llama": NOW - 600},
        "gaudi_job_restarts_total": {"llama": 2},
        "gaudi_job_step": {"llama": 120},
        "gaudi_job_steps": {"llama": 500},
        "gaudi_job_step_timestamp_seconds": {"llama": NOW - 5},
        "gaudi_job_loss": {"llama": 3.25},
        "gaudi_job_tokens_per_second": {"llama": 1.5e6},
        "gaudi_job_data_wait_ratio": {"llama": 0.03 / 0.4},
        "gaudi_job_checkpoint_timestamp_seconds": {"llama": NOW - 60},
    }


def test_a_node_without_rank_0_tells_that_it_runs(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.job("llama")
    assert {*node.metrics()} == {
        *("gaudi_job_info", "gaudi_job_running", "gaudi_job_restarts_total", "gaudi_job_started_timestamp_seconds")
    }


def test_a_loss_that_is_no_number_is_nan(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.job("llama", '{"kind": "step", "step": 7, "loss": NaN}')
    assert math.isnan(node.metrics()["gaudi_job_loss"]["llama"])


def test_what_ended_within_the_hour_is_shown_and_no_more(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.job("lately", STEP, ended=NOW - 60)
    node.job("before", STEP, ended=NOW - SHOWN_SECONDS - 60)
    assert node.metrics()["gaudi_job_running"] == {"lately": 0}


def test_a_thousand_jobs_of_long_ago_cost_one_question(tmp_path: Path) -> None:
    node = Node(tmp_path)
    for number in range(100):
        node.job(f"old-{number}", ended=NOW - SHOWN_SECONDS - 60)
    node.job("now", STEP)
    assert {*node.metrics()["gaudi_job_running"]} == {"now"}
    assert len(node.calls) == 2


def test_of_many_that_ended_lately_the_running_ones_are_shown_first(tmp_path: Path) -> None:
    node = Node(tmp_path)
    for number in range(MOST_JOBS + 5):
        node.job(f"short-{number}", ended=NOW - 60)
    node.job("now", STEP)
    found = node.metrics()["gaudi_job_running"]
    assert len(found) == MOST_JOBS
    assert found["now"] == 1


def test_what_an_account_writes_is_numbers_or_nothing(tmp_path: Path) -> None:
    node = Node(tmp_path)
    hostile = {"step": "many", "loss": [1], "tokens_per_second": 1e300, "seconds": "x", "time": True, "max_steps": {}}
    node.job("llama", "\x00\xff", "[]", {"kind": "step", **hostile})
    (tmp_path / "logs/jobs/llama/metrics.jsonl").open("a").write("half a li")
    assert not any(name.startswith("gaudi_job_step") for name in node.metrics())


def test_a_pipe_in_place_of_its_lines_holds_nobody(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.job("llama")
    (tmp_path / "logs/jobs/llama/metrics.jsonl").unlink()
    os.mkfifo(tmp_path / "logs/jobs/llama/metrics.jsonl")
    assert node.metrics()["gaudi_job_running"] == {"llama": 1}
