# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a loop that calls ``report_step`` leaves behind, and that nothing it tells can end it."""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import torch
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_page import training_report

from gaudi3_scale.core._follow.history import read_history
from gaudi3_scale.core._job.paths import JobPaths
from gaudi3_scale.reporting import steps
from gaudi3_scale.reporting.reported_numbers import real_of, step_of
from gaudi3_scale.reporting.steps import LINE_EVERY_S, StepReports
from job_runs import read_lines


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def job(tmp_path):
    """The environment of rank 0 of four on two nodes, and a clock."""
    (tmp_path / "progress").mkdir()
    environment = {
        "GAUDI3_SCALE_METRICS": str(tmp_path / "metrics.jsonl"),
        "GAUDI3_SCALE_PROGRESS_DIR": str(tmp_path / "progress"),
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "4",
        "LOCAL_WORLD_SIZE": "2",
    }
    return environment, Clock()


def metrics(tmp_path, kind=None):
    lines = read_lines(tmp_path / "metrics.jsonl")
    return [line for line in lines if kind in (None, line["kind"])]


def progress(tmp_path, local_rank=0):
    return json.loads((tmp_path / "progress" / f"{local_rank}.json").read_text())


def test_a_line_in_two_seconds_has_the_speed_since_the_one_before(job, tmp_path):
    environment, clock = job
    reports = StepReports(environment, clock)
    for step in range(1, 41):
        reports.report(step, loss=10 / step, tokens=500, samples=2, max_steps=1000, learning_rate=0.001)
        clock.now += 0.5
    start, *lines = metrics(tmp_path)
    assert (start["kind"], start["step"], start["resumed_from"], start["max_steps"]) == ("start", 0, None, 1000)
    assert (start["world_size"], start["nodes"]) == (4, 2)
    assert [line["step"] for line in lines] == [1, *range(5, 41, 4)]
    assert "tokens_per_second" not in lines[0]
    for line in lines[1:]:
        assert line["loss"] == 10 / line["step"]
        assert (line["tokens_per_second"], line["tokens_per_second_per_card"]) == (4000, 1000)
        assert (line["samples_per_second"], line["lr"], line["seconds"]) == (16, 0.001, {"step": 0.5})
    assert lines[-1]["seconds_left"] == (1000 - 37) * 0.5
    assert lines[-1]["ends_at"] == pytest.approx(lines[-1]["time"] + lines[-1]["seconds_left"], abs=2)


def test_the_last_step_is_told_whenever_it_comes(job, tmp_path):
    environment, clock = job
    reports = StepReports(environment, clock)
    for step in (1, 2, 3):
        reports.report(step, max_steps=3)
    assert [line["step"] for line in metrics(tmp_path, "step")] == [1, 3]
    reports.finish()
    assert len(metrics(tmp_path, "step")) == 2
    open_end = StepReports(environment, clock)
    for step in (4, 5, 6):
        open_end.report(step, loss=1.0)
    open_end.finish()
    assert metrics(tmp_path)[-1]["step"] == 6
    assert progress(tmp_path)["step"] == 6
    # It was started anew, and says where.
    assert metrics(tmp_path, "start")[-1]["resumed_from"] == 3


def test_other_ranks_write_their_progress_and_no_lines(job, tmp_path):
    environment, clock = job
    reports = StepReports({**environment, "RANK": "3", "LOCAL_RANK": "1"}, clock)
    reports.report(7, loss=1.0, busy_seconds=0.25)
    reports.finish()
    assert not (tmp_path / "metrics.jsonl").exists()
    assert (progress(tmp_path, 1)["rank"], progress(tmp_path, 1)["busy_seconds"]) == (3, 0.25)


def test_a_step_before_the_last_one_is_said_once_with_both_and_is_no_hang(job, tmp_path, capsys, monkeypatch):
    environment, clock = job
    # The progress file may be written once a second of the real clock.
    monkeypatch.setattr("gaudi3_scale.progress.time.monotonic", itertools.count(100, 2).__next__)
    reports = StepReports(environment, clock)
    reports.report(900, loss=1.0)
    for step in (1, 2, 3):
        clock.now += LINE_EVERY_S
        reports.report(step, loss=9.0)
        assert progress(tmp_path)["step"] == step
    said = (
        "report_step(1) came after report_step(900): steps only go forward, so count them over all epochs; reports of "
        "steps before 900 are ignored."
    )
    assert capsys.readouterr().err == f"gaudi3_scale: {said}\n"
    assert [line["message"] for line in metrics(tmp_path, "warning")] == [said]
    assert [line["step"] for line in metrics(tmp_path, "step")] == [900]
    reports.report(901, loss=1.0)
    assert [line["step"] for line in metrics(tmp_path, "step")] == [900, 901]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (-float("inf"), "-inf"),
        (10**400, "inf"),
        (numpy.float16("nan"), "nan"),
        (torch.tensor(float("nan"), requires_grad=True), "nan"),
        (numpy.float32(2.5), 2.5),
        (torch.tensor([2.5], requires_grad=True), 2.5),
        (3, 3.0),
    ],
)
def test_a_loss_is_a_finite_number_or_a_name(job, tmp_path, value, shown):
    environment, clock = job
    StepReports(environment, clock).report(1, loss=value)
    text = (tmp_path / "metrics.jsonl").read_text()
    lines = [json.loads(line, parse_constant=lambda name: pytest.fail(name)) for line in text.splitlines()]
    assert lines[-1]["loss"] == shown


def test_a_diverged_loss_is_said_on_the_page(job, tmp_path):
    environment, clock = job
    reports = StepReports(environment, clock)
    for step, loss in ((1, 3.0), (2, 2.0), (3, math.nan)):
        clock.now += LINE_EVERY_S
        reports.report(step, loss=loss, samples=8, max_steps=9)
    paths = JobPaths("diverged", str(tmp_path / "state"), str(tmp_path / "log"))
    Path(paths.logs).mkdir(parents=True)
    shutil.copy(environment["GAUDI3_SCALE_METRICS"], paths.metrics)
    host = {"inventory_hostname": "node1", "__gaudi_training_info": {}, "__gaudi_training_history": read_history(paths)}
    page = training_report([host])
    assert "the loss is not a number from step 3 on: the training has diverged" in page["notes"]
    assert "16 samples/s, 4 a card: the median over the job" in page["notes"]
    assert page["rows"][0]["samples/s"] == 16
    assert [chart["title"] for chart in page["charts"]] == ["Loss", "Speed"]
    assert page["charts"][1]["y_label"] == "samples/s"


@pytest.mark.parametrize("what", ["loss", "tokens", "samples", "learning_rate", "busy_seconds"])
@pytest.mark.parametrize(
    "value", ["abc", True, [1, 2], torch.zeros(3), object()], ids=lambda value: type(value).__name__
)
def test_what_is_no_number_is_said_once_and_left_out(job, tmp_path, capsys, what, value):
    environment, clock = job
    reports = StepReports(environment, clock)
    for step in range(1, 8):
        clock.now += LINE_EVERY_S
        reports.report(step, **{what: value})
    err = capsys.readouterr().err
    assert err.count(f"report_step was given {what}=") == 1
    assert [line["step"] for line in metrics(tmp_path, "step")] == list(range(1, 8))
    for line in metrics(tmp_path, "step"):
        assert not {"loss", "lr", "tokens_per_second", "samples_per_second"} & set(line)
    assert progress(tmp_path)["busy_seconds"] is None


@pytest.mark.parametrize("step", ["7", True, None, 2.5, math.nan, -1, 10**30, torch.zeros(3)])
def test_a_step_that_is_none_is_said_and_left_out(job, tmp_path, capsys, step):
    environment, clock = job
    StepReports(environment, clock).report(step, loss=1.0)
    assert "which is not a step number; give 1, 2, 3" in capsys.readouterr().err
    assert [line["kind"] for line in metrics(tmp_path)] == ["warning"]


def test_steps_and_numbers_are_taken_as_programs_have_them():
    for step in (7, 7.0, numpy.int64(7), torch.tensor(7), torch.tensor([7])):
        assert step_of(step) == 7
    assert real_of(torch.tensor(2.5)) == real_of(numpy.float64(2.5)) == 2.5
    assert real_of(None) is None


def test_a_disk_that_is_full_or_away_is_said_once(job, tmp_path, capsys):
    environment, clock = job
    environment = {**environment, "GAUDI3_SCALE_METRICS": str(tmp_path), "GAUDI3_SCALE_PROGRESS_DIR": "/proc/none"}
    reports = StepReports(environment, clock)
    for step in (1, 2, 3):
        clock.now += LINE_EVERY_S
        reports.report(step, loss=1.0)
    reports.end()
    err = capsys.readouterr().err
    assert err.count(f"{tmp_path} cannot be written") == 1
    assert err.count("/proc/none/0.json cannot be written") == 1
    full = StepReports({**environment, "GAUDI3_SCALE_METRICS": "/dev/full"}, clock)
    full.report(1, loss=1.0)


def test_odd_variables_do_no_harm(job, tmp_path):
    environment, clock = job
    StepReports({**environment, "RANK": "zero", "WORLD_SIZE": "-4", "LOCAL_WORLD_SIZE": ""}, clock).report(1)
    assert metrics(tmp_path, "start")[0]["world_size"] == 1


def test_the_loss_of_a_graph_is_kept_without_it(job):
    environment, clock = job
    reports = StepReports(environment, clock)
    weight = torch.ones(1, requires_grad=True)
    reports.report(1, loss=1.0)
    reports.report(2, loss=(weight * 2).sum())
    assert not reports._loss.requires_grad


SCRIPT = """
import sys
from pathlib import Path
import gaudi3_scale
for step in range(1, 4):
    gaudi3_scale.report_step(step, loss=1 / step)
gaudi3_scale.report_step(1)
assert not {"torch", "lightning", "transformers"} & set(sys.modules)
"""


def run_script(environment):
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_a_script_loads_no_torch_and_tells_its_last_step_as_it_ends(job, tmp_path):
    ran = run_script(job[0])
    assert ran.returncode == 0, ran.stderr
    assert [line["step"] for line in metrics(tmp_path, "step")] == [1, 3]
    assert "report_step(1) came after report_step(3)" in ran.stderr


def test_outside_a_job_nothing_happens(tmp_path):
    ran = run_script({})
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_a_report_that_breaks_is_said_once_and_goes_by(job, monkeypatch, capsys):
    from gaudi3_scale.reporting import report_step as module

    monkeypatch.setattr(module, "_reports", StepReports(*job))
    monkeypatch.setattr(module, "_complained", False)
    monkeypatch.setattr(steps.StepReports, "report", lambda *_given, **_more: 1 / 0)
    module.report_step(1)
    module.report_step(2)
    assert capsys.readouterr().err == "gaudi3_scale: a report was dropped (ZeroDivisionError: division by zero).\n"


class Pretends:
    """A number of PyTorch's that is on its device still."""

    def detach(self):
        return self

    def __float__(self):
        return 0.75


@pytest.fixture
def gaudi2(monkeypatch):
    monkeypatch.setattr("gaudi3_scale.reporting.counted_work.gaudi_label", lambda: "HL-225")


def told(job, flops):
    """The step lines of ten steps of a second each, and what was said."""
    environment, clock = job
    reports = StepReports(environment, clock)
    for step in range(1, 11):
        clock.now += 1
        reports.report(step, gradient_norm=Pretends(), flops=flops)
    return reports


def test_a_loop_tells_its_gradient_and_the_share_of_its_card(job, tmp_path, gaudi2):
    told(job, 216e12)
    lines = metrics(tmp_path, "step")
    assert {line["gradient_norm"] for line in lines} == {0.75}
    # Half of 432 TFLOPS; the first line has no time.
    assert [line.get("mfu") for line in lines] == [None, *[0.5] * (len(lines) - 1)]
    assert not any("flops" in name for line in lines for name in line)


def test_a_share_that_cannot_be_is_said_once(job, tmp_path, gaudi2, capsys):
    told(job, 4320e12)
    assert {line.get("mfu") for line in metrics(tmp_path, "step")} == {None}
    (warning,) = metrics(tmp_path, "warning")
    assert warning["message"].startswith("the model would use 1000 % of the peak of HL-225 in bf16")
    assert capsys.readouterr().err.count("1000 %") == 1


def test_on_a_card_that_nobody_knows_there_is_no_share(job, tmp_path):
    told(job, 216e12)
    assert not any("mfu" in line for line in metrics(tmp_path, "step"))


def test_the_graphs_that_the_bridge_counts_are_in_the_lines_of_a_loop(job, tmp_path):
    environment, clock = job
    environment["PT_HPU_METRICS_FILE"] = str(tmp_path / "bridge.json")
    counted = {"metric_name": "graph_compilation", "statistics": {"TotalNumber": 3}}
    (tmp_path / "bridge-rank0.json").write_text(f"[{json.dumps(counted)}")
    told((environment, clock), None)
    assert {line["graph_compilations"] for line in metrics(tmp_path, "step")} == {3}
