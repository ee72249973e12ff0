# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.slurm_job import (
    ALIVE,
    parse_kept,
    parse_shown,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.slurm_jobs import (
    cancel,
    check_slurm_there,
    description_of,
    find,
    node_names,
    state_of,
    submit,
    submit_once,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.slurm_fake import ENDED, FORGOTTEN, Queued, SlurmQueue

FIXTURES = Path(__file__).parents[4] / "fixtures/slurm"
NAME = "gaudi3-scale-job-llama"
HEAD = f"#!/bin/bash\n#SBATCH --job-name={NAME}\n#SBATCH --comment=gaudi3_scale:abc\n"
SCRIPT = HEAD + '# gaudi3_scale description: {"a": 1}\n'


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "batch.sh"
    path.write_text(SCRIPT)
    return str(path)


def no_sleep(_seconds):
    return None


def test_a_job_is_found_by_its_name_and_user_while_it_lives():
    slurm = SlurmQueue()
    slurm.add(SCRIPT, state="COMPLETED")
    slurm.add(SCRIPT.replace("llama", "other"))
    slurm.add(SCRIPT, user="alice")
    slurm.add(SCRIPT, state="RUNNING", reason="None")
    (found,) = find(NAME, "root", slurm)
    assert (found.number, found.state, found.comment, found.words) == ("44", "RUNNING", "gaudi3_scale:abc", "RUNNING")


def test_a_job_that_waits_tells_why():
    slurm = SlurmQueue()
    slurm.add(SCRIPT)
    assert find(NAME, "root", slurm)[0].words == "PENDING (Resources)"


def test_points_of_a_sweep_are_told_apart():
    rows = "43|41|PENDING|Resources|gaudi3_scale:abc\n42|41|RUNNING|None|gaudi3_scale:abc\n"
    found = find(NAME, "root", lambda *_a, **_k: CommandResult(0, rows, ""))
    assert [(job.number, job.array, job.state) for job in found] == [("42", "41", "RUNNING"), ("43", "41", "PENDING")]


def test_what_squeue_warns_of_is_no_job():
    assert find(NAME, "root", lambda *_a, **_k: CommandResult(0, "some | warning\n\n", "")) == ()


def test_the_description_comes_from_the_script_that_slurm_keeps():
    slurm = SlurmQueue()
    slurm.add(SCRIPT)
    assert description_of("41", slurm) == {"a": 1}
    assert description_of("99", slurm) is None


def test_the_number_of_a_new_job(script):
    assert submit(script, "root", SlurmQueue()) == "41"
    assert submit(script, "root", lambda *_a, **_k: CommandResult(0, "7;cluster\n", "")) == "7"


def test_another_account_submits_as_itself(script):
    calls = []

    def run(argv, **_more):
        calls.append(argv)
        return CommandResult(0, "7\n", "")

    submit(script, "nobody", run)
    (call,) = calls
    assert call[:5] == ("runuser", "-u", "nobody", "--", "env")
    assert call[-3:] == ("sbatch", "--parsable", script)
    assert "HOME=/nonexistent" in call


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (
            CommandResult(1, "", "sbatch: error: Batch job submission failed: Invalid node name specified\n"),
            "Slurm did not take the job: Batch job submission failed: Invalid node name specified; correct the options",
        ),
        (CommandResult(127, "", "sbatch: not installed"), "sbatch is not installed on"),
        (
            CommandResult(1, "", "sbatch: error: Access denied by authentication"),
            "Slurm does not let this user do that",
        ),
        (CommandResult(0, "Submitted\n", ""), "sbatch did not report the job's number but 'Submitted'"),
    ],
)
def test_a_job_that_is_not_taken_is_one_sentence(script, result, said):
    with pytest.raises(GaudiError) as caught:
        submit(script, "root", lambda *_a, **_k: result)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_of_two_launches_at_once_the_older_job_stays(script):
    slurm = SlurmQueue(faster=Queued("", SCRIPT.replace(":abc", ":xyz")))
    stays = submit_once(script, NAME, "gaudi3_scale:abc", "root", slurm)
    assert (stays.number, stays.comment) == ("41", "gaudi3_scale:xyz")
    assert [job.state for job in slurm.jobs] == ["PENDING", "CANCELLED"]


def test_a_launch_alone_keeps_its_job(script):
    slurm = SlurmQueue()
    slurm.add(SCRIPT, state="COMPLETED")
    slurm.add(SCRIPT, user="alice")
    assert submit_once(script, NAME, "gaudi3_scale:abc", "root", slurm).number == "43"
    assert slurm.called("scancel") == []


def test_how_a_job_stands():
    slurm = SlurmQueue()
    job = slurm.add(SCRIPT, state="FAILED", reason="NonZeroExitCode", exit_code="3:0")
    (found,) = state_of("41", slurm)
    assert (found.name, found.state, found.exit_code, found.restarts) == (NAME, "FAILED", 3, 1)
    assert (found.started, found.ended, found.alive) == (1700000300.0, 1700000900.0, False)
    job.state, job.exit_code = "RUNNING", "0:0"
    (found,) = state_of("41", slurm)
    assert (found.alive, found.ended, found.exit_code) == (True, None, 0)


def test_each_state_of_slurm_has_ended_or_not():
    assert not ALIVE & set(ENDED)


def test_values_with_blanks_and_signals():
    line = "JobId=9 ArrayJobId=7 JobName=my job JobState=FAILED Reason=Node failed: x ExitCode=0:9 Comment=a b"
    (found,) = parse_shown(line)
    assert (found.number, found.array, found.name, found.reason) == ("9", "7", "my job", "Node failed: x")
    assert (found.exit_code, found.comment) == (-9, "a b")


def recorded(name):
    """Of Slurm 22.05.8 (Debian 12), with SLURM_TIME_FORMAT=%s, for jobs that this collection submitted."""
    return (FIXTURES / name).read_text()


def test_recorded_states_are_read():
    (running,) = parse_shown(recorded("job_running.txt"))
    assert (running.name, running.state, running.words, running.ended) == (NAME, "RUNNING", "RUNNING", None)
    assert running.comment == "gaudi3_scale:fe1f57d42247"
    (failed,) = parse_shown(recorded("job_failed.txt"))
    assert (failed.number, failed.state, failed.exit_code, failed.reason) == (
        running.number,
        "FAILED",
        1,
        "NonZeroExitCode",
    )
    assert failed.started == running.started
    assert failed.ended >= failed.started


def test_a_recorded_sweep_is_read():
    points = parse_shown(recorded("job_sweep.txt"))
    assert [(job.number, job.array, job.words) for job in points] == [
        ("24", "24", "PENDING (JobArrayTaskLimit)"),
        ("26", "24", "RUNNING"),
        ("25", "24", "RUNNING"),
    ]
    assert [job.state for job in parse_shown(recorded("job_cancelled.txt"))] == ["CANCELLED"] * 3
    listed = find(NAME, "root", lambda *_a, **_k: CommandResult(0, recorded("squeue_sweep.txt"), ""))
    assert [(job.number, job.array, job.state) for job in listed] == [
        ("24", "24", "PENDING"),
        ("25", "24", "RUNNING"),
        ("26", "24", "RUNNING"),
    ]


def test_what_the_controller_forgot_accounting_may_know():
    slurm = SlurmQueue(accounting=True)
    slurm.add(SCRIPT, state="TIMEOUT", exit_code="0:15", forgotten=True)
    (found,) = state_of("41", slurm)
    assert (found.state, found.exit_code, found.started, found.name) == ("TIMEOUT", -15, 1700000300.0, NAME)
    slurm.accounting = False
    assert state_of("41", slurm) == ()


def test_accounting_names_who_cancelled():
    rows = "41_0|CANCELLED by 1000|0:0|1|2|None assigned|a|b\n41_1|COMPLETED|0:0|1|Unknown|n[1-2]|x\nnothing\n"
    first, second = parse_kept(rows)
    assert (first.state, first.array, first.name, first.nodes) == ("CANCELLED", "41", "a|b", "")
    assert (second.state, second.ended, second.nodes) == ("COMPLETED", None, "n[1-2]")


def test_the_nodes_that_slurm_has_chosen_have_their_names():
    slurm = SlurmQueue()
    first, second = (slurm.add(SCRIPT, state="RUNNING", nodes=nodes) for nodes in ("node[2-3]", "node3"))
    (waiting,) = parse_shown((FIXTURES / "job_sweep.txt").read_text(encoding="utf-8").splitlines()[0])
    jobs = [waiting, *state_of(first.number, slurm), *state_of(second.number, slurm)]
    assert [job.nodes for job in jobs] == ["", "node[2-3]", "node3"]
    assert node_names(jobs, slurm) == ("node2", "node3")
    assert node_names([waiting], slurm) == ()


def test_a_controller_that_does_not_answer_is_no_end_of_the_job():
    away = CommandResult(1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
    with pytest.raises(GaudiError, match="Unable to contact slurm controller"):
        state_of("41", lambda *_a, **_k: away)
    assert state_of("41", lambda *_a, **_k: FORGOTTEN) == ()


def test_ranks_get_time_for_a_checkpoint():
    slurm = SlurmQueue()
    slurm.add(SCRIPT, state="RUNNING")
    cancel(["41"], 5, slurm, no_sleep)
    assert slurm.called("scancel") == [["--batch", "--signal=USR2", "41"]]
    assert slurm.jobs[0].state == "FAILED"


@pytest.mark.parametrize("state", ["PENDING", "RUNNING"])
def test_a_job_that_does_not_end_by_itself_is_cancelled(state):
    slurm = SlurmQueue(ends_on_signal=False)
    slurm.add(SCRIPT, state=state)
    waited = []
    cancel(["41"], 5, slurm, waited.append)
    assert slurm.called("scancel") == [["--batch", "--signal=USR2", "41"], ["41"]]
    assert slurm.jobs[0].state == "CANCELLED"
    assert len(waited) == (5 if state == "RUNNING" else 0)


def test_a_job_that_stays_is_told():
    slurm = SlurmQueue(immortal=True)
    slurm.add(SCRIPT, state="COMPLETING", reason="None")
    with pytest.raises(GaudiError, match=r"job 41 of Slurm is still COMPLETING after scancel; look at"):
        cancel(["41"], 2, slurm, no_sleep)


@pytest.mark.parametrize("program", ["sbatch", "srun", "scontrol"])
def test_a_host_without_slurm_is_refused(program):
    with pytest.raises(GaudiError, match=f"engine slurm: {program} is not installed on n1; install Slurm's commands"):
        check_slurm_there("n1", "", SlurmQueue(missing=(program,)))


def test_a_partition_that_is_not_there_is_refused():
    slurm = SlurmQueue()
    check_slurm_there("n1", "debug,gaudi", slurm)
    with pytest.raises(GaudiError, match=r"slurm.partition gpu is not known to Slurm; give one of debug, gaudi\."):
        check_slurm_there("n1", "gpu", slurm)
