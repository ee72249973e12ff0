# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of jobs: what runs and what ended lately, whatever their account has written."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter import job_lines
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.exposition import text_of
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.job_families import job_families
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.job_readings import (
    MOST_JOBS,
    SHOWN_SECONDS,
    STEPS_SHOWN_SECONDS,
    JobReading,
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
CHECKPOINT = {"kind": "checkpoint", "time": NOW - 60, "step": 100}
HERE, THERE = "gaudi-01", "gaudi-02"
# What a supervisor says where the job runs, with rank 0 here.
LED = {"time": NOW, "state": "running", "members": [HERE, THERE], "node_rank": 0}
# As long as that of 512 nodes.
ABOUT_NODES = {"kind": "nodes", "nodes": {f"gaudi-{number:03}": {"busy": "x" * 550} for number in range(512)}}


@dataclass
class Node:
    """Jobs of a node, and systemd's word for those that run. ``known`` is what the collector found at its last look."""

    root: Path
    running: set[str] = field(default_factory=set)
    calls: list[tuple[str, ...]] = field(default_factory=list)
    known: list[JobReading] = field(default_factory=list)

    def job(
        self,
        name: str,
        *lines: Mapping[str, Any] | str,
        ended: float | None = None,
        status: Mapping[str, Any] | None = LED,
    ) -> None:
        control, directory, logs = (self.root / place / name for place in ("state/control", "state/jobs", "logs/jobs"))
        for place in (control, directory, logs):
            place.mkdir(parents=True)
        (control / "job.json").write_text(json.dumps({"engine": "torchrun", "user": "gaudi", "host": HERE}))
        (control / "started.json").write_text(json.dumps({"time": NOW - 600, "launch": "a"}))
        if status is not None:
            (directory / "status.json").write_text(json.dumps(status))
        (logs / "metrics.jsonl").touch()
        self.tell(name, *lines)
        if ended is None:
            self.running.add(name)
        else:
            record = {"time": ended, "result": "exit-code", "code": "exited", "status": "1"}
            (directory / "ended.json").write_text(json.dumps(record))
            os.utime(directory / "ended.json", (ended, ended))

    def tell(self, name: str, *lines: Mapping[str, Any] | str) -> None:
        text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
        self.lines_of(name).open("a").write(text)

    def lines_of(self, name: str) -> Path:
        return self.root / "logs/jobs" / name / "metrics.jsonl"

    def says(self, name: str, **status: Any) -> None:
        """What its supervisor says from now on."""
        (self.root / "state/jobs" / name / "status.json").write_text(json.dumps({**LED, **status}))

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        self.calls.append(tuple(argv))
        if argv[0] != "systemctl":
            return CommandResult(1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
        if "*" in argv[2]:
            units = [f"Id=gaudi3-scale-job-{name}.service\nActiveState=active\n" for name in self.running]
            return CommandResult(0, "\n".join(units), "")
        name = argv[2].removeprefix("gaudi3-scale-job-").removesuffix(".service")
        return CommandResult(0, f"ActiveState={'active' if name in self.running else 'inactive'}\n", "")

    def metrics(self) -> dict[str, dict[str, float]]:
        """Metric -> job -> value."""
        self.known = read_jobs(self, str(self.root / "state"), str(self.root / "logs"), NOW, self.known)
        found: dict[str, dict[str, float]] = {}
        for family in text_string_to_metric_families(text_of(job_families(self.known))):
            for sample in family.samples:
                found.setdefault(sample.name, {})[sample.labels["training"]] = sample.value
        return found


def test_a_job_tells_where_it_is(tmp_path: Path) -> None:
    node = Node(tmp_path)
    before = {**STEP, "step": 119, "time": NOW - 6}
    node.job("llama", {"kind": "start", "time": NOW - 500}, CHECKPOINT, before, STEP, status={**LED, "restarts": 2})
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


def test_a_job_tells_what_its_steps_are_made_of(tmp_path: Path) -> None:
    node = Node(tmp_path)
    step = {
        **STEP,
        "samples_per_second": 5860.0,
        "gradient_norm": 0.7,
        "mfu": 0.41,
        "memory_bytes": 90 << 30,
        "seconds": {"step": 0.4, "data": 0.03, "communication": 0.1},
        "graph_compilations": 12,
        "recipe_cache_hits": 9,
        "recipe_cache_misses": 3,
    }
    node.job("llama", {"kind": "start", "time": NOW - 500, "memory_limit_bytes": 96 << 30}, step)
    found = node.metrics()
    told = {
        "samples_per_second": 5860,
        "gradient_norm": 0.7,
        "mfu_ratio": 0.41,
        "memory_used_bytes": 90 << 30,
        "memory_limit_bytes": 96 << 30,
        "communication_ratio": 0.25,
        "graph_compilations_total": 12,
        "recipe_cache_hits_total": 9,
        "recipe_cache_misses_total": 3,
    }
    assert {name: found[f"gaudi_job_{name}"]["llama"] for name in told} == told
    assert "gaudi_job_memory_part_bytes" not in found
    # A card that does more than it can is a mistake of whoever wrote the line.
    node.tell("llama", {**step, "mfu": 1.3})
    assert "gaudi_job_mfu_ratio" not in node.metrics()


RUNS = {"gaudi_job_info", "gaudi_job_running", "gaudi_job_restarts_total", "gaudi_job_started_timestamp_seconds"}


@pytest.mark.parametrize(
    "status",
    [
        {"members": [THERE, HERE], "node_rank": 1},
        {"members": [THERE], "node_rank": None, "state": "waiting"},
        # Of what it does not hear any more it says what it knew before.
        {"state": "stopping"},
        {"members": [], "node_rank": None, "state": "waiting"},
    ],
)
def test_a_node_without_rank_0_tells_that_it_runs(tmp_path: Path, status: Mapping[str, Any]) -> None:
    node = Node(tmp_path)
    node.job("llama", CHECKPOINT, STEP, status={**LED, **status})
    assert {*node.metrics()} == RUNS


def test_rank_0_that_moved_and_came_back_is_told_where_it_is(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.job("llama", CHECKPOINT, STEP)
    assert node.metrics()["gaudi_job_step"] == {"llama": 120}
    node.says("llama", members=[THERE, HERE], node_rank=1)
    assert {*node.metrics()} == RUNS
    node.says("llama")
    node.tell("llama", {**STEP, "step": 200})
    found = node.metrics()
    assert found["gaudi_job_step"] == {"llama": 200}
    assert found["gaudi_job_checkpoint_timestamp_seconds"] == {"llama": NOW - 60}


def test_a_job_that_nobody_supervises_has_its_lines_where_it_began(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.job("llama", CHECKPOINT, STEP, status=None)
    assert node.metrics()["gaudi_job_step"] == {"llama": 120}


@pytest.mark.parametrize(
    ("status", "tells"),
    [
        (None, True),
        ({"outcome": "failed", "node_rank": None}, True),
        ({"outcome": "failed", "node_rank": None, "members": [THERE, HERE]}, False),
        # It has left, and the others go on.
        ({"outcome": None, "node_rank": None}, False),
        ({"outcome": None}, False),
    ],
)
def test_where_a_job_ended_its_last_step_is_told_a_moment_longer(
    tmp_path: Path, status: Mapping[str, Any] | None, tells: bool
) -> None:
    """Not for the hour: it may run again without this node, and what it told here would be taken for its step."""
    node, given = Node(tmp_path), None if status is None else {**LED, **status}
    node.job("now", CHECKPOINT, STEP, ended=NOW - 5, status=given)
    node.job("before", CHECKPOINT, STEP, ended=NOW - STEPS_SHOWN_SECONDS - 5, status=given)
    found = node.metrics()
    assert found["gaudi_job_running"] == {"now": 0, "before": 0}
    for name in ("gaudi_job_step", "gaudi_job_checkpoint_timestamp_seconds"):
        assert {*found.get(name, {})} == ({"now"} if tells else set())


def test_a_checkpoint_is_known_however_much_was_told_since(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.job("llama", CHECKPOINT, STEP)
    for _minute in range(5):
        node.tell("llama", *[ABOUT_NODES] * 2)
        found = node.metrics()
    assert node.lines_of("llama").stat().st_size > 10 * (1 << 18)
    assert found["gaudi_job_checkpoint_timestamp_seconds"] == {"llama": NOW - 60}
    assert found["gaudi_job_step"] == {"llama": 120}


def test_a_collector_that_begins_finds_what_was_told_in_the_hour_before(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.job("llama", CHECKPOINT, STEP, *[ABOUT_NODES] * 50)
    assert node.metrics()["gaudi_job_checkpoint_timestamp_seconds"] == {"llama": NOW - 60}


def test_only_what_is_new_is_read_again(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.job("llama", CHECKPOINT, STEP)
    node.metrics()
    # As long as before, so that whoever reads the same bytes again finds another step.
    with node.lines_of("llama").open("r+") as stream:
        text = stream.read()
        stream.seek(0)
        stream.write(text.replace('"step": 120', '"step": 777'))
    node.tell("llama", ABOUT_NODES)
    assert node.metrics()["gaudi_job_step"] == {"llama": 120}


def test_of_more_lines_than_anyone_writes_the_last_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_lines, "_MOST_LINES", 3)
    node = Node(tmp_path)
    node.job("now", CHECKPOINT, {}, STEP)
    node.job("long", CHECKPOINT, {}, {}, STEP)
    found = node.metrics()
    assert found["gaudi_job_step"] == {"now": 120, "long": 120}
    assert {*found["gaudi_job_checkpoint_timestamp_seconds"]} == {"now"}


def test_half_a_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    node, text = Node(tmp_path), json.dumps({**STEP, "step": 121})
    node.job("llama", STEP)
    for part, step in ((text[:40], 120), (text[40:], 120), ("\n", 121)):
        node.lines_of("llama").open("a").write(part)
        assert node.metrics()["gaudi_job_step"] == {"llama": step}


@pytest.mark.parametrize("moved", [True, False], ids=["another file", "a shorter one"])
def test_a_job_that_is_launched_anew_has_nothing_of_its_run_before(tmp_path: Path, moved: bool) -> None:
    node = Node(tmp_path)
    node.job("llama", CHECKPOINT, STEP)
    node.metrics()
    if moved:
        node.lines_of("llama").rename(tmp_path / "earlier")
    node.lines_of("llama").write_text("")
    node.tell("llama", {**STEP, "step": 1})
    if moved:
        node.tell("llama", *[{"kind": "remark", "text": "x" * 400}] * 5)
    found = node.metrics()
    assert found["gaudi_job_step"] == {"llama": 1}
    assert "gaudi_job_checkpoint_timestamp_seconds" not in found


def test_what_is_known_of_a_job_goes_with_it(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.job("llama", STEP)
    node.metrics()
    node.running.clear()
    shutil.rmtree(tmp_path / "state/control/llama")
    assert node.metrics() == {} and node.known == []


def test_the_time_between_steps_is_the_usual_one(tmp_path: Path) -> None:
    """A checkpoint, a restart and the clock of a node are none of it."""
    node = Node(tmp_path)
    times = [0, 2, 4, 6, 300, 302, 304, 306, 320]
    node.job("llama", *({**STEP, "time": NOW - 600 + time} for time in times))
    assert node.metrics()["gaudi_job_step_interval_seconds"] == {"llama": 2}
    node.tell("llama", *({**STEP, "time": NOW + 30 * step} for step in range(20)))
    assert node.metrics()["gaudi_job_step_interval_seconds"] == {"llama": 30}
    # A clock that was put back.
    node.tell("llama", *({**STEP, "time": NOW - 9000 + 5 * step} for step in range(3)))
    assert node.metrics()["gaudi_job_step_interval_seconds"] == {"llama": 5}


def test_the_time_between_fewer_than_three_steps_is_not_told(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.job("llama", {**STEP, "time": NOW - 30}, {**STEP, "time": NOW - 20}, {**STEP, "time": "soon"})
    assert "gaudi_job_step_interval_seconds" not in node.metrics()
    node.tell("llama", {**STEP, "time": NOW - 10})
    assert node.metrics()["gaudi_job_step_interval_seconds"] == {"llama": 10}


def test_slurm_that_does_not_answer_hides_no_other_job(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.job("llama", STEP)
    node.job("queued")
    control = tmp_path / "state/control/queued"
    (control / "job.json").write_text(json.dumps({"engine": "slurm", "user": "root", "host": HERE}))
    (control / "slurm.json").write_text(json.dumps({"job": 7}))
    assert node.metrics()["gaudi_job_step"] == {"llama": 120}


@pytest.mark.parametrize(("told", "asked"), [(NOW - 60, True), (NOW - SHOWN_SECONDS - 60, False)])
def test_slurm_is_asked_for_a_job_for_as_long_as_that_tells_its_steps(tmp_path: Path, told: float, asked: bool) -> None:
    node = Node(tmp_path)
    node.job("long", STEP)
    node.running.clear()
    control = tmp_path / "state/control/long"
    (control / "job.json").write_text(json.dumps({"engine": "slurm", "user": "root", "host": HERE}))
    (control / "slurm.json").write_text(json.dumps({"job": 7}))
    os.utime(control, (NOW - 86400, NOW - 86400))
    os.utime(tmp_path / "logs/jobs/long/metrics.jsonl", (told, told))
    node.metrics()
    assert any(call[0] != "systemctl" for call in node.calls) == asked


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


def test_memory_is_told_by_the_parts_that_there_are(tmp_path: Path) -> None:
    node = Node(tmp_path)
    parts = {"weights": 8 << 30, "activations": 3 << 30, "rest": "much", "x" * 99: 5}
    node.job("llama", {**STEP, "memory_parts": parts})
    (family,) = [
        family
        for family in job_families(read_jobs(node, str(tmp_path / "state"), str(tmp_path / "logs"), NOW))
        if family.name == "gaudi_job_memory_part_bytes"
    ]
    assert {sample.labels["part"]: sample.value for sample in family.samples} == {
        "weights": 8 << 30,
        "activations": 3 << 30,
    }


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


def test_the_cards_of_a_job_are_those_of_the_metrics_of_cards(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.job("llama")
    (tmp_path / "state/control/llama/started.json").write_text(json.dumps({"time": NOW - 600, "modules": [4, 6]}))
    node.job("books", ended=NOW - 60)
    (tmp_path / "state/control/books/started.json").write_text(json.dumps({"time": NOW - 600, "modules": [0]}))
    text = text_of(job_families(read_jobs(node, str(tmp_path / "state"), str(tmp_path / "logs"), NOW)))
    family = next(one for one in text_string_to_metric_families(text) if one.name == "gaudi_job_card")
    labels = [sample.labels for sample in family.samples]
    assert labels == [{"training": "llama", "card": "4"}, {"training": "llama", "card": "6"}]
