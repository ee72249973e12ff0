# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A job's life through Slurm, on its first host; and what the other hosts do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.report import report
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.state import read_worker_group
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import SlurmOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines import slurm_jobs
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.slurm import script_text
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import describe, job_environment
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.control import prepare, start
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.launch import StartOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.stop import remove, stop
from ansible_collections.gaudi3.scale.tests.unit.described_job import job_on
from ansible_collections.gaudi3.scale.tests.unit.slurm_fake import Queued, SlurmQueue


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(slurm_jobs, "POLL_S", 0.001)


@pytest.fixture
def paths(tmp_path):
    return JobPaths("demo", str(tmp_path / "state"), str(tmp_path / "log"), str(tmp_path / "units"))


@pytest.fixture
def slurm():
    return SlurmQueue()


@pytest.fixture
def job(tmp_path):
    return job_on(tmp_path, engine="slurm")


def launch(job, paths, slurm, *, restart=False, check_mode=False, replace=False):
    return start(job, paths, slurm, StartOptions(restart=restart, check_mode=check_mode, replace=replace))


def forget(paths):
    """The first host is installed anew, or another host is the first one now."""
    for path in (paths.slurm_job, paths.description, paths.batch_script):
        Path(path).unlink()


def test_a_job_is_submitted_once_and_found_again(job, paths, slurm):
    first = launch(job, paths, slurm)
    assert (first["changed"], first["state"]) == (True, "running")
    assert first["argv"] == ["sbatch", "--parsable", paths.batch_script]
    assert json.loads(Path(paths.slurm_job).read_text()) == {"job": "41"}
    assert Path(paths.batch_script).stat().st_mode & 0o777 == 0o640
    again = launch(job, paths, slurm)
    assert (again["changed"], again["state"], again["diff"]) == (False, "running", [])
    assert len(slurm.called("sbatch")) == 1


def test_check_mode_shows_the_script_and_touches_nothing(job, paths, slurm, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    result = launch(job, paths, slurm, check_mode=True)
    assert result["changed"]
    assert "#SBATCH --job-name=gaudi3-scale-job-demo" in result["launch"]["text"]
    assert result["diff"][0]["after"] == result["launch"]["text"]
    assert slurm.called("sbatch") == []
    assert sorted(tmp_path.rglob("*")) == before
    # Also on a host on which Slurm is not installed yet.
    bare = SlurmQueue(missing=("sbatch", "squeue", "scontrol", "sinfo"))
    assert launch(job, paths, bare, check_mode=True)["launch"]["argv"][0] == "sbatch"


def test_a_host_that_lost_its_files_finds_the_job_in_slurm(job, paths, slurm):
    launch(job, paths, slurm)
    forget(paths)
    result = launch(job, paths, slurm)
    assert (result["changed"], result["state"]) == (False, "running")
    assert len(slurm.called("sbatch")) == 1
    # From now on it is known here again, also when Slurm's queue has let it go.
    assert json.loads(Path(paths.slurm_job).read_text()) == {"job": "41"}
    slurm.jobs[0].state = "COMPLETED"
    assert read_worker_group(paths, slurm).state == "succeeded"


def test_another_description_is_refused_by_what_slurm_keeps(job, paths, slurm):
    launch(job, paths, slurm)
    other = replace(job, slurm=SlurmOptions(time_limit="90"))
    wanted = "running with another description: slurm.time_limit is '', asked for '90'; stop it first"
    for _ in ("known here", "known to Slurm alone"):
        with pytest.raises(GaudiError, match=wanted):
            launch(other, paths, slurm, restart=True)
        if Path(paths.slurm_job).exists():
            forget(paths)
    assert len(slurm.called("sbatch")) == 1


def test_a_script_that_may_not_be_read_is_no_reason_for_a_second_job(job, paths, slurm):
    launch(job, paths, slurm)
    forget(paths)
    slurm.jobs[0].script = slurm.jobs[0].script.replace("# gaudi3_scale description", "# ")
    with pytest.raises(GaudiError, match="its description cannot be read from Slurm by this user"):
        launch(replace(job, processes_per_node=1), paths, slurm)


def test_replace_ends_the_job_that_runs_and_shows_the_difference(job, paths, slurm):
    launch(job, paths, slurm)
    slurm.jobs[0].state = "RUNNING"
    other = replace(job, slurm=SlurmOptions(time_limit="90"))
    shown = launch(other, paths, slurm, replace=True, check_mode=True)["diff"][0]
    assert "--time=90" in shown["after"]
    assert "--time" not in shown["before"]
    assert launch(other, paths, slurm, replace=True)["changed"]
    assert [job.state for job in slurm.jobs] == ["FAILED", "PENDING"]
    assert json.loads(Path(paths.description).read_text())["slurm"]["time_limit"] == "90"
    assert read_worker_group(paths, slurm).state == "running"


def test_replace_also_ends_a_job_that_slurm_alone_knows(job, paths, slurm):
    launch(job, paths, slurm)
    forget(paths)
    other = replace(job, slurm=SlurmOptions(time_limit="90"))
    assert launch(other, paths, slurm, replace=True)["changed"]
    assert [job.state for job in slurm.jobs] == ["CANCELLED", "PENDING"]
    assert json.loads(Path(paths.slurm_job).read_text()) == {"job": "42"}


def test_of_two_launches_at_once_the_second_finds_the_first(job, paths, slurm, tmp_path):
    script = script_text(job, paths, job_environment(job, paths, None))
    slurm.faster = Queued("", script)
    assert launch(job, paths, slurm)["state"] == "running"
    assert [job.state for job in slurm.jobs] == ["PENDING", "CANCELLED"]
    assert json.loads(Path(paths.slurm_job).read_text()) == {"job": "41"}


def test_of_two_launches_at_once_with_other_descriptions_the_second_is_refused(job, paths, slurm):
    other = replace(job, processes_per_node=1)
    slurm.faster = Queued("", script_text(other, paths, job_environment(other, paths, None)))
    with pytest.raises(GaudiError, match="processes_per_node is 1, asked for 2"):
        launch(job, paths, slurm)
    assert [job.state for job in slurm.jobs] == ["PENDING", "CANCELLED"]
    assert not Path(paths.slurm_job).exists()


@pytest.mark.parametrize(
    ("state", "code", "ours"),
    [
        ("PENDING", "0:0", "running"),
        ("RUNNING", "0:0", "running"),
        ("REQUEUED", "0:0", "running"),
        ("COMPLETED", "0:0", "succeeded"),
        ("FAILED", "1:0", "failed"),
        ("TIMEOUT", "0:15", "failed"),
        ("NODE_FAIL", "1:0", "failed"),
        ("CANCELLED", "0:15", "stopped"),
    ],
)
def test_what_slurms_states_mean(job, paths, slurm, state, code, ours):
    launch(job, paths, slurm)
    slurm.jobs[0].state, slurm.jobs[0].exit_code = state, code
    reported = report(paths, slurm)
    assert reported["state"] == ours
    assert state in reported["result"]
    assert (reported["failure"] is not None) == (ours == "failed")


def test_a_job_that_came_to_no_agent_tells_what_slurm_says(job, paths, slurm):
    launch(job, paths, slurm)
    slurm.jobs[0].state, slurm.jobs[0].exit_code = "FAILED", "127:0"
    Path(paths.logs, "slurm-41.log").write_text("slurm_script: line 58: srun: command not found\n")
    failure = report(paths, slurm)["failure"]
    assert (failure["message"], failure["path"]) == (
        "slurm_script: line 58: srun: command not found",
        f"{paths.logs}/slurm-41.log",
    )
    # Once there is an agent, it is the one to ask.
    Path(paths.agent_log).write_text("torchrun: broken\n")
    assert report(paths, slurm)["failure"]["path"] == paths.agent_log


def test_a_job_that_slurm_forgot_is_known_by_its_own_record(job, paths, slurm):
    launch(job, paths, slurm)
    slurm.jobs[0].forgotten = True
    record = {"result": "success", "code": "exited", "status": "0", "time": 1700000900}
    Path(paths.ended).write_text(json.dumps(record))
    assert read_worker_group(paths, slurm).state == "succeeded"
    Path(paths.ended).unlink()
    assert read_worker_group(paths, slurm).state == "failed"


def test_a_number_that_now_is_another_job_is_not_trusted(job, paths, slurm):
    launch(job, paths, slurm)
    slurm.jobs[0].script = slurm.jobs[0].script.replace("gaudi3-scale-job-demo", "somebody-elses")
    assert read_worker_group(paths, slurm).state == "failed"
    assert stop(paths, slurm, check_mode=False)["changed"] is False
    assert slurm.called("scancel") == []


def test_a_job_that_ended_well_is_left_alone_and_one_that_failed_is_started_again(job, paths, slurm):
    launch(job, paths, slurm)
    slurm.jobs[0].state = "COMPLETED"
    assert launch(job, paths, slurm)["state"] == "succeeded"
    slurm.jobs[0].state = "FAILED"
    assert launch(job, paths, slurm)["changed"]
    assert len(slurm.jobs) == 2


def test_stopping_gives_the_ranks_time_and_is_no_failure(job, paths, slurm):
    launch(job, paths, slurm)
    slurm.jobs[0].state = "RUNNING"
    assert stop(paths, slurm, check_mode=True)["changed"]
    assert slurm.called("scancel") == []
    result = stop(paths, slurm, check_mode=False)
    assert (result["changed"], result["state"]) == (True, "stopped")
    # Its ranks ended by themselves, which Slurm calls a failure.
    assert (slurm.jobs[0].state, read_worker_group(paths, slurm).state) == ("FAILED", "stopped")
    assert stop(paths, slurm, check_mode=False)["changed"] is False


def test_a_job_that_is_not_known_here_is_stopped_by_its_name(job, paths, slurm):
    launch(job, paths, slurm)
    forget(paths)
    assert stop(paths, slurm, check_mode=False)["changed"] is False
    assert stop(paths, slurm, check_mode=False, slurm_user=job.user)["changed"] is True
    assert slurm.jobs[0].state == "CANCELLED"


def test_a_stop_that_fails_is_told(job, paths, slurm):
    launch(replace(job, stop_timeout=1), paths, slurm)
    slurm.immortal = True
    with pytest.raises(GaudiError, match=r"job demo could not be stopped: job 41 of Slurm is still PENDING"):
        stop(paths, slurm, check_mode=False)


def test_forgetting_keeps_checkpoints(job, paths, slurm):
    launch(job, paths, slurm)
    Path(paths.directory, "checkpoints").mkdir()
    assert remove(paths, slurm, check_mode=False)["state"] == "absent"
    assert [path.name for path in Path(paths.directory).iterdir()] == ["checkpoints"]
    assert slurm.jobs[0].state == "CANCELLED"


def test_a_start_that_slurm_refuses_leaves_no_job(job, paths, slurm):
    slurm.refuses = "Batch job submission failed: Requested node configuration is not available"
    with pytest.raises(GaudiError, match="Slurm did not take the job: Batch job submission failed: Requested node"):
        launch(job, paths, slurm)
    assert read_worker_group(paths, slurm).state == "absent"


def test_a_host_without_slurm_is_told_before_anything_is_touched(job, paths, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(GaudiError, match=r"squeue is not installed on \S+; install Slurm's commands there\."):
        launch(job, paths, SlurmQueue(missing=("sbatch", "squeue", "scontrol", "sinfo")))
    assert sorted(tmp_path.rglob("*")) == before


def test_the_other_hosts_are_prepared_and_start_nothing(job, paths, slurm):
    other = replace(job, host="n2")
    for _ in range(2):
        result = start(other, paths, slurm)
        assert result["state"] == "prepared"
        assert Path(paths.ranks).is_dir()
    assert result["changed"] is False
    assert slurm.jobs == []
    with pytest.raises(GaudiError, match=r"there is no script '/nowhere/y\.py' on this node"):
        start(replace(other, command=("/nowhere/y.py",)), paths, slurm)


def test_preparing_the_first_host_refuses_what_a_start_refuses(job, paths, slurm):
    assert prepare(job, paths, slurm)["state"] == "prepared"
    launch(job, paths, slurm)
    assert prepare(job, paths, slurm)["state"] == "running"
    with pytest.raises(GaudiError, match="processes_per_node is 2, asked for 1"):
        prepare(replace(job, processes_per_node=1), paths, slurm)


def test_a_sweep_is_over_when_all_its_points_are(job, paths, slurm):
    launch(replace(job, slurm=SlurmOptions(array=(("--a",), ("--b",)))), paths, slurm)
    shown = slurm.jobs[0].shown().replace("JobId=41", "JobId=42 ArrayJobId=41")
    points = {"41": shown, "42": shown.replace("PENDING", "FAILED")}

    def run(argv, **more):
        if argv[:3] == ["scontrol", "--oneliner", "show"]:
            return slurm(argv, **more)._replace(stdout="".join(points.values()))
        return slurm(argv, **more)

    assert read_worker_group(paths, run).state == "running"
    points["41"] = shown.replace("PENDING", "COMPLETED")
    assert read_worker_group(paths, run).state == "failed"
    points["42"] = points["41"]
    assert read_worker_group(paths, run).state == "succeeded"


def test_the_description_that_is_kept_is_the_jobs(job, paths, slurm):
    launch(job, paths, slurm)
    assert json.loads(Path(paths.description).read_text()) == describe(job)


@pytest.mark.parametrize(
    ("ends", "state"),
    [(("0", "0"), "succeeded"), (("0", "3"), "failed"), (("3", "0"), "failed"), (("0", None), "failed")],
)
def test_a_sweep_that_slurm_forgot_stands_as_its_points_ended(job, paths, slurm, ends, state):
    sweep = replace(job, slurm=SlurmOptions(array=(("--lr", "1"), ("--lr", "2"))))
    launch(sweep, paths, slurm)
    slurm.jobs[0].state, slurm.jobs[0].forgotten = "COMPLETED", True
    for number, status in enumerate(ends):
        place = Path(paths.directory, f"point-{number}")
        place.mkdir()
        if status is not None:
            result = "success" if status == "0" else "exit-code"
            record = {"result": result, "code": "exited", "status": status, "time": 100 + number}
            (place / "ended.json").write_text(json.dumps(record))
    assert read_worker_group(paths, slurm).state == state
    # A new run knows nothing of those ends.
    launch(sweep, paths, slurm, restart=True)
    assert list(Path(paths.directory).glob("point-*/ended.json")) == []


def test_the_nodes_are_told_where_slurm_chooses_them(job, paths, slurm):
    launch(job, paths, slurm)
    assert report(paths, slurm)["nodes"] == []
    stop(paths, slurm, check_mode=False)
    launch(replace(job, slurm=SlurmOptions(nodes="any")), paths, slurm)
    assert report(paths, slurm)["nodes"] == ["node1", "node2"]
