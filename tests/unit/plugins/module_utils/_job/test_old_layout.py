# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs whose description lies among the account's files, where an earlier collection put it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import describe
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.control import start
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.stop import remove, stop
from ansible_collections.gaudi3.scale.plugins.module_utils._monitoring.history import read_history
from ansible_collections.gaudi3.scale.plugins.module_utils._monitoring.state import read_worker_group
from ansible_collections.gaudi3.scale.tests.unit.described_job import job_on
from ansible_collections.gaudi3.scale.tests.unit.systemd_fake import JobUnit

LOSSES = {"earlier/20261121T172311.042000000Z/metrics.jsonl": 3.0, "metrics.jsonl": 2.0}


@pytest.fixture
def job(tmp_path):
    return job_on(tmp_path, host="n2")


@pytest.fixture
def paths(tmp_path, job):
    """As a launch of the earlier collection left it: the job runs."""
    made = JobPaths("demo", str(tmp_path / "state"), str(tmp_path / "log"), str(tmp_path / "units"))
    files = {"job.json": json.dumps(describe(job)), "started.json": '{"time": 100.5}', "environment": "A_KEY=s3cret\n"}
    for name, text in {**files, "checkpoints/step-1/manifest.json": "{}"}.items():
        path = Path(made.directory, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)
    for step, (name, loss) in enumerate(LOSSES.items(), 1):
        path = Path(made.logs, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"kind": "step", "step": step, "loss": loss, "time": step}) + "\n")
    Path(made.unit_directory).mkdir()
    Path(made.unit_file).write_text("[Service]\n")
    return made


@pytest.fixture
def unit(paths):
    running = JobUnit(paths)
    running.active = True
    return running


def losses(paths):
    return [point["loss"] for run in read_history(paths)["runs"] for point in run["points"]]


def test_it_is_found_and_left_alone_while_it_runs(job, paths, unit):
    worker_group = read_worker_group(paths, unit)
    assert (worker_group.state, worker_group.started, worker_group.description) == ("running", 100.5, describe(job))
    assert start(job, paths, unit)["changed"] is False


def test_it_is_told_to_stop_where_it_looks(paths, unit):
    assert stop(paths, unit, check_mode=False)["state"] == "stopped"
    assert Path(paths.directory, "stop_requested").exists()


def test_the_next_launch_takes_it_over_with_checkpoints_and_history(job, paths, unit):
    unit.end("exit-code", "exited", "1")
    assert read_worker_group(paths, unit).state == "failed"
    assert start(job, paths, unit)["changed"]
    assert json.loads(Path(paths.description).read_text()) == describe(job)
    # With the secrets that lay among the account's files.
    assert sorted(path.name for path in Path(paths.directory).iterdir()) == ["checkpoints"]
    assert losses(paths) == [3.0, 2.0]


def test_it_can_be_forgotten(paths, unit):
    assert remove(paths, unit, check_mode=False)["state"] == "absent"
    assert sorted(path.name for path in Path(paths.directory).iterdir()) == ["checkpoints"]
    assert remove(paths, unit, check_mode=False)["changed"] is False


@pytest.mark.parametrize("harm", ["link", "second name", "writable"])
def test_a_description_that_root_did_not_leave_so_is_no_description(paths, unit, harm):
    reported = Path(paths.directory, "job.json")
    if harm == "writable":
        reported.chmod(0o666)
    elif harm == "second name":
        Path(paths.directory, "other").hardlink_to(reported)
    else:
        reported.rename(reported.with_name("other"))
        reported.symlink_to("other")
    assert read_worker_group(paths, unit).state == "absent"
