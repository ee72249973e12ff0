# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A sweep as a node finds it on its disk, and side by side on the page of the job."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.history import read_history
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.sweep import read_sweep
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group_failure import rank_failures
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.directories import put_away_logs
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.page import report_page
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_page import training_report
from ansible_collections.gaudi3.scale.tests.unit.module_call import call

ARRAY = [["--lr", "0.1"], ["--lr", "0.2", "--note", "a b"], ["--lr", "0.4"]]
DESCRIPTION = {"name": "llama", "engine": "slurm", "hosts": ["n1"], "slurm": {"array": ARRAY}}


@pytest.fixture
def paths(tmp_path):
    found = JobPaths("llama", str(tmp_path / "state"), str(tmp_path / "log"))
    write(found.description, DESCRIPTION)
    return found


def write(path, *objects):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("".join(json.dumps(one) + "\n" for one in objects))


def steps(*losses, first=1, rate=2000.0):
    return [
        {
            "kind": "step",
            "step": number,
            "time": 100.0 + number,
            "loss": loss,
            "tokens_per_second": rate,
            "max_steps": 9,
        }
        for number, loss in enumerate(losses, start=first)
    ]


def end(paths, number, status="0"):
    result = "success" if status == "0" else "exit-code"
    write(paths.of_point(number).ended, {"result": result, "code": "exited", "status": status, "time": 200})


def host(paths, name="n1", state="running"):
    history = {**read_history(paths), "sweep": read_sweep(paths)}
    info = {"state": state, "description": DESCRIPTION}
    return {"inventory_hostname": name, "__gaudi_training_info": info, "__gaudi_training_history": history}


def test_each_point_has_its_arguments_curve_and_end(paths):
    write(paths.of_point(0).metrics, *steps(3.0, 2.0))
    end(paths, 0)
    write(paths.of_point(1).metrics, *steps(3.0, 5.0))
    end(paths, 1, "1")
    first, second, third = read_sweep(paths)
    assert (first["point"], first["arguments"], first["state"]) == (0, ["--lr", "0.1"], "succeeded")
    assert first["curve"] == [{"step": 1, "loss": 3.0}, {"step": 2, "loss": 2.0}]
    assert (second["state"], second["last"]["loss"]) == ("failed", 5.0)
    assert (third["arguments"], third["state"], third["last"], third["curve"]) == (["--lr", "0.4"], None, None, [])


def test_a_job_that_is_no_sweep_has_no_points(paths):
    write(paths.description, {**DESCRIPTION, "slurm": {}})
    assert read_sweep(paths) == []


def test_a_point_that_went_on_is_one_curve_also_from_logs_that_were_put_away(paths):
    write(paths.of_point(1).metrics, {"kind": "start", "step": 0, "time": 1}, *steps(3.0, 2.5, 2.4))
    write(paths.agent_log, {})
    put_away_logs(paths, pwd.getpwuid(os.getuid()))
    assert not Path(paths.of_point(1).logs).exists()
    write(paths.of_point(1).metrics, {"kind": "start", "step": 2, "time": 110}, *steps(2.3, 2.2, first=3))
    point = read_sweep(paths)[1]
    assert [(one["step"], one["loss"]) for one in point["curve"]] == [(1, 3.0), (2, 2.5), (3, 2.3), (4, 2.2)]
    assert point["restarts"] == 1


def test_the_point_that_failed_last_is_named_by_its_log(paths):
    log = (Path(__file__).parents[3] / "fixtures/job_failure/raised.log").read_text(encoding="utf-8")
    for number, text in ((0, log.replace("09:12:27", "10:12:27")), (2, log)):
        write(paths.of_point(number).batch_agent_log)
        Path(paths.of_point(number).batch_agent_log).write_text(text, encoding="utf-8")
    failures = rank_failures(paths)
    assert [failure.rank for failure in failures] == [3, 2]
    assert all("/point-0/" in failure.path for failure in failures)


def test_the_page_shows_the_points_side_by_side(paths):
    write(paths.of_point(0).metrics, *steps(3.0, 2.0, 2.25))
    end(paths, 0)
    write(paths.of_point(1).metrics, *steps(3.5, 1.5, rate=12_345.0))
    report = training_report([host(paths)])
    (section,) = [one for one in report["sections"] if one["title"] == "Points of the sweep"]
    assert section["rows"] == [
        {
            "point": 0,
            "arguments": "--lr 0.1",
            "state": "succeeded",
            "step": "3 of 9",
            "loss": "2.2500",
            "lowest loss": "2.0000",
            "tokens/s": "2,000",
            "restarts": None,
        },
        {
            "point": 1,
            "arguments": "--lr 0.2 --note 'a b'",
            "state": "running",
            "step": "2 of 9",
            "loss": "1.5000",
            "lowest loss": "1.5000",
            "tokens/s": "12,340",
            "restarts": None,
        },
        {
            "point": 2,
            "arguments": "--lr 0.4",
            "state": "waiting",
            **dict.fromkeys(("step", "loss", "lowest loss", "tokens/s", "restarts")),
        },
    ]
    assert report["notes"] == [
        "a sweep of 3 points: 1 succeeded, 1 running, 1 waiting",
        "lowest last loss: 1.5000 at step 2 of point 1 (--lr 0.2 --note 'a b')",
    ]
    (chart,) = report["charts"]
    assert [(one["label"], one["points"][-1]) for one in chart["series"]] == [
        ("0: --lr 0.1", [3, 2.25]),
        ("1: --lr 0.2 --note 'a b'", [2, 1.5]),
    ]
    parts = {name: report[name] for name in ("rows", "columns", "notes", "charts")}
    page = report_page("Job", subtitle="", **parts, sections=[{"notes": [], **one} for one in report["sections"]])
    assert page.count('<polyline class="curve ') == 2
    assert "<polygon" not in page


def test_points_that_ran_on_other_nodes_are_put_together(paths, tmp_path):
    """With nodes: any Slurm chooses; only the first host knows arguments and ends."""
    end(paths, 1)
    other = JobPaths("llama", str(tmp_path / "state2"), str(tmp_path / "log2"))
    write(other.of_point(1).metrics, *steps(3.0, 2.0))
    report = training_report([host(paths), host(other, "n2")])
    row = report["sections"][0]["rows"][1]
    assert (row["arguments"], row["state"], row["loss"]) == ("--lr 0.2 --note 'a b'", "succeeded", "2.0000")


def test_of_many_points_the_lowest_curves_are_drawn(paths):
    write(paths.description, {**DESCRIPTION, "slurm": {"array": [["--seed", str(number)] for number in range(9)]}})
    for number in range(9):
        write(paths.of_point(number).metrics, *steps(9.0, float(number) if number != 4 else float("nan")))
    (chart,) = training_report([host(paths)])["charts"]
    assert chart["title"] == "Loss of the 6 lowest of 8 points"
    assert [one["label"].partition(":")[0] for one in chart["series"]] == ["0", "1", "2", "3", "5", "6"]


def test_a_sweep_that_was_cancelled_while_it_waited_has_a_page(paths):
    report = training_report([host(paths, state="stopped")])
    assert report["notes"] == ["a sweep of 3 points: 3 stopped", "no step was measured"]
    assert report["charts"] == []


def test_the_module_tells_the_points(paths):
    write(paths.of_point(2).metrics, *steps(3.0))
    places = {"state_directory": paths.state_directory, "log_directory": paths.log_directory}
    result, status = call("training_job_history", name="llama", **places)
    assert (status, [point["point"] for point in result["sweep"]], result["runs"]) == (0, [0, 1, 2], [])
    assert result["sweep"][2]["last"]["loss"] == 3.0


def test_the_table_of_the_nodes_says_where_checkpoints_of_points_are(paths):
    one = host(paths)
    one["__gaudi_training_info"]["job_directory"] = "/state/jobs/llama"
    assert training_report([one])["rows"][0]["checkpoints"] == "/state/jobs/llama/point-*/checkpoints"
