# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.report import (
    exit_codes,
    report,
    wait_for_event,
    wait_until_ended,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.state import read_worker_group
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.status import Status
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import ended_state
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group_failure import failure_of
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import Job, describe
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._node.systemd_units import has_processes
from ansible_collections.gaudi3.scale.tests.unit.systemd_fake import JobUnit

FIXTURES = Path(__file__).parents[3] / "fixtures/job_failure"
JOB = Job("demo", ("n1", "n2"), "n2", 2, "192.0.2.1", 29500, ("x.py",), "/venv")


@pytest.fixture
def paths(tmp_path):
    return JobPaths("demo", str(tmp_path / "state"), str(tmp_path / "log"), str(tmp_path / "units"))


@pytest.fixture
def unit(paths):
    """A worker group that was started 100 s after 1970 and runs."""
    for directory in (paths.control, paths.directory, paths.agent_logs):
        Path(directory).mkdir(parents=True)
    Path(paths.ranks).mkdir(parents=True)
    Path(paths.description).write_text(json.dumps(describe(JOB)))
    Path(paths.started).write_text('{"time": 100.5}')
    unit = JobUnit(paths)
    unit.active = True
    return unit


def rank_log(paths, local_rank, text, error_file=None):
    directory = Path(paths.ranks, "demo_x1/attempt_0", str(local_rank))
    directory.mkdir(parents=True)
    (directory / "stderr.log").write_text(text)
    if error_file:
        (directory / "error.json").write_text(error_file)
    return str(directory / "stderr.log")


def agent_log(paths, name):
    text = (FIXTURES / name).read_text(encoding="utf-8")
    Path(paths.agent_log).write_text(
        text.replace("/var/log/gaudi3_scale/jobs/demo/ranks/job-x_9bja1ux1", f"{paths.ranks}/demo_x1")
    )


def test_no_job(paths):
    assert read_worker_group(paths, JobUnit(paths)).state == "absent"


def test_a_job_that_runs(paths, unit):
    worker_group = read_worker_group(paths, unit)
    assert (worker_group.state, worker_group.started, worker_group.ended) == ("running", 100.5, None)
    assert worker_group.description["hosts"] == ["n1", "n2"]


def test_a_job_whose_supervisor_was_killed_runs_while_systemd_starts_it_again(paths, unit):
    """As systemd 252 tells it between the two, and after the last of too many starts."""
    killed = {"Result": "signal", "ExecMainCode": "2", "ExecMainStatus": "9"}
    unit.properties = {**killed, "ActiveState": "activating", "SubState": "auto-restart"}
    assert read_worker_group(paths, unit).state == "running"
    unit.properties = {**killed, "ActiveState": "failed", "SubState": "failed"}
    worker_group = read_worker_group(paths, unit)
    assert (worker_group.state, worker_group.result, worker_group.exit_code) == ("failed", "signal", -9)
    # Told to stop while it was to be started again: there is no record, but the word of whoever stopped it.
    Path(paths.stop_requested).touch()
    assert read_worker_group(paths, unit).state == "stopped"


@pytest.mark.parametrize(
    ("record", "stop_requested", "state"),
    [
        (("success", "exited", "0"), False, "succeeded"),
        # It was done before the stop reached it.
        (("success", "exited", "0"), True, "succeeded"),
        (("exit-code", "exited", "1"), False, "failed"),
        (("exit-code", "exited", "1"), True, "stopped"),
        (("signal", "killed", "KILL"), False, "failed"),
        (("timeout", "killed", "KILL"), True, "stopped"),
        (("oom-kill", "exited", "1"), False, "failed"),
        # systemd calls an end by SIGTERM a success.
        (("success", "killed", "TERM"), False, "failed"),
        (("success", "killed", "TERM"), True, "stopped"),
    ],
)
def test_how_it_ended(record, stop_requested, state):
    assert ended_state(dict(zip(("result", "code", "status"), record)), stop_requested) == state


@pytest.mark.parametrize(
    ("told", "state"),
    [
        ("succeeded", "succeeded"),
        ("stopped", "stopped"),
        # Not the supervisor's words: the file is the account's.
        ("running", "failed"),
        ("x1795608000", "failed"),
        ("", "failed"),
    ],
)
def test_of_what_the_supervisor_told_only_its_own_words_are_a_state(paths, unit, told, state):
    Path(paths.status).write_text(json.dumps({"time": 9.0, "outcome": told}))
    unit.end("exit-code", "exited", "1")
    assert read_worker_group(paths, unit).state == state


@pytest.mark.parametrize(("stop_requested", "state"), [(False, "failed"), (True, "stopped")])
def test_a_node_that_went_down_recorded_nothing(paths, unit, stop_requested, state):
    unit.active = False
    if stop_requested:
        Path(paths.stop_requested).touch()
    worker_group = read_worker_group(paths, unit)
    assert worker_group.state == state
    failure = failure_of(paths, worker_group)
    assert (failure is None) == stop_requested
    assert failure is None or "the node went down" in failure.message


@pytest.mark.parametrize(
    ("active_state", "active"),
    [
        ("active", True),
        ("activating", True),
        ("deactivating", True),
        ("reloading", True),
        ("inactive", False),
        ("failed", False),
    ],
)
def test_states_of_systemd(active_state, active):
    assert has_processes(lambda _argv, **_kw: CommandResult(0, f"ActiveState={active_state}\n", ""), "u") is active


def test_a_node_without_systemd_is_told():
    with pytest.raises(GaudiError, match="systemctl cannot be asked about u: systemctl: not installed"):
        has_processes(lambda _argv, **_kw: CommandResult(127, "", "systemctl: not installed"), "u")


def test_after_success_all_ranks_of_the_node_have_zero(paths, unit):
    unit.end()
    worker_group = read_worker_group(paths, unit)
    assert exit_codes(paths, worker_group, Status()) == {"2": 0, "3": 0}
    assert failure_of(paths, worker_group) is None


def test_a_killed_rank(paths, unit):
    agent_log(paths, "killed.log")
    path = rank_log(paths, 1, "a warning\n")
    unit.end("exit-code", "exited", "1")
    worker_group = read_worker_group(paths, unit)
    failure = failure_of(paths, worker_group)
    assert (failure.rank, failure.exit_code, failure.message, failure.path) == (3, -9, "killed by SIGKILL", path)
    assert exit_codes(paths, worker_group, Status()) == {"3": -9, "2": -15}


def test_a_rank_that_raised(paths, unit):
    agent_log(paths, "recorded.log")
    rank_log(paths, 1, "Traceback\nValueError: x\n", (FIXTURES / "error.json").read_text(encoding="utf-8"))
    unit.end("exit-code", "exited", "1")
    failure = failure_of(paths, read_worker_group(paths, unit))
    assert (failure.exception, failure.message) == ("ValueError", "recorded bad thing on rank 3")
    assert failure.lines == ("Traceback", "ValueError: x")


@pytest.mark.parametrize(
    ("log", "stderr", "failed"),
    # Ended because its peers were stopped; and a rank that had failed before the stop.
    [("lost_peer.log", "lost_peer_stderr.log", False), ("killed.log", None, True)],
)
def test_a_share_that_was_told_to_stop(paths, unit, log, stderr, failed):
    agent_log(paths, log)
    rank_log(paths, 1, (FIXTURES / stderr).read_text(encoding="utf-8") if stderr else "")
    Path(paths.stop_requested).touch()
    unit.end("exit-code", "exited", "1")
    assert (failure_of(paths, read_worker_group(paths, unit)) is not None) == failed


@pytest.mark.parametrize(
    ("record", "log", "code", "message"),
    [
        (("exit-code", "exited", "2"), "usage\ntorchrun: error: bad\n", 2, "torchrun: error: bad"),
        (("exit-code", "exited", "203"), "", 203, "exit status 203"),
        (("signal", "killed", "KILL"), "", -9, "killed by SIGKILL"),
        (("core-dump", "dumped", "SEGV"), "", -11, "killed by SIGSEGV"),
        (
            ("oom-kill", "killed", "TERM"),
            "",
            -15,
            "killed by SIGTERM; the kernel ended a process since the node has no",
        ),
    ],
)
def test_an_agent_that_failed_without_a_rank(paths, unit, record, log, code, message):
    Path(paths.agent_log).write_text(log)
    unit.end(*record)
    failure = failure_of(paths, read_worker_group(paths, unit))
    assert (failure.rank, failure.exit_code, failure.path) == (-1, code, paths.agent_log)
    assert failure.message.startswith(message)


def test_the_report_has_the_same_keys_whatever_there_is(paths, unit, tmp_path):
    nothing = JobPaths("other", str(tmp_path / "state"), str(tmp_path / "log"), str(tmp_path / "units"))
    absent = report(nothing, JobUnit(nothing))
    running = report(paths, unit)
    unit.end()
    assert absent.keys() == running.keys() == report(paths, unit).keys()
    assert (absent["state"], absent["description"], absent["metrics"], absent["failure"]) == ("absent", {}, [], None)


def test_the_report(paths, unit):
    Path(paths.agent_log).write_text("one\ntwo\nthree\n")
    lines = [{"kind": "step", "loss": loss} for loss in (5.5, 4.0, 3.0)]
    Path(paths.metrics).write_text("".join(json.dumps(line) + "\n" for line in [*lines, {"kind": "end"}]))
    first = report(paths, unit, log_lines=2)
    assert (first["first_loss"], first["last_loss"], first["last_metrics"]) == (5.5, 3.0, {"kind": "end"})
    assert first["last_step"]["loss"] == 3.0
    assert first["log"] == ["two", "three"]
    assert first["metrics"] == [*lines, {"kind": "end"}]
    assert report(paths, unit, metrics_after=first["metrics_offset"], log_lines=0)["metrics"] == []


def test_what_ranks_were_bound_to_is_told_also_after_the_end(paths, unit):
    worker_group = {"local_rank": 0, "numa_node": 1, "cpus": "4-7", "cores": 4}
    Path(paths.started).write_text(json.dumps({"time": 100.5, "binding": [worker_group]}))
    assert report(paths, unit)["binding"] == [worker_group]
    unit.end("success", "exited", "0")
    assert report(paths, unit)["binding"] == [worker_group]


def test_waiting_until_it_ended(paths, unit):
    naps = []

    def sleep(seconds):
        naps.append(seconds)
        if len(naps) == 3:
            unit.end()

    assert wait_until_ended(paths, unit, 60, clock=lambda: sum(naps), sleep=sleep)
    assert len(naps) == 3


def test_waiting_has_an_end(paths, unit):
    naps = []
    assert not wait_until_ended(paths, unit, 1.2, clock=lambda: sum(naps), sleep=naps.append)
    assert sum(naps) == pytest.approx(1.2)


def test_an_event_ends_the_wait_at_once_and_what_was_told_before_does_not(paths, unit):
    naps, told = [], Path(paths.events)
    told.write_text('{"kind": "run"}\n')
    before = report(paths, unit)["events_offset"]

    def sleep(seconds):
        naps.append(seconds)
        if len(naps) == 3:
            with told.open("a") as events:
                events.write('{"kind": "rank_failed"}\n')

    assert wait_for_event(paths, unit, 60, before, lambda: sum(naps), sleep)
    assert len(naps) == 3
    assert [event["kind"] for event in report(paths, unit, events_after=before)["events"]] == ["rank_failed"]


def test_the_wait_for_an_event_ends_with_the_worker_group_and_with_its_time(paths, unit):
    naps = []
    assert not wait_for_event(paths, unit, 1.2, 0, lambda: sum(naps), naps.append)
    assert sum(naps) == pytest.approx(1.2)
    unit.end()
    assert wait_for_event(paths, unit, 60, 0, lambda: sum(naps), naps.append)
    assert sum(naps) == pytest.approx(1.2)


def test_a_failure_in_the_logs_of_a_node_without_a_share_is_told_on_request(paths, unit):
    agent_log(paths, "raised.log")
    unit.active = False
    known = report(paths, unit)["failure"]
    Path(paths.description).unlink()
    reported = report(paths, unit, failure_in_logs=True)
    assert (reported["state"], reported["failure"]) == ("absent", known)
    assert report(paths, unit)["failure"] is None


def says(paths, local_rank, *stages):
    place = Path(paths.ranks, "demo_x1/attempt_0", str(local_rank), "reached.jsonl")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(json.dumps({"stage": stage, "time": 101.0}) + "\n" for stage in stages))


def test_ranks_that_start_slowly_have_their_time_from_when_all_of_them_run(paths, unit):
    naps = []

    def sleep(seconds):
        naps.append(seconds)
        if sum(naps) == 100:
            says(paths, 0, "started", "met")
        if sum(naps) == 200:
            says(paths, 1, "started", "met")

    assert not wait_until_ended(paths, unit, 60, lambda: sum(naps), sleep, start_timeout=300)
    assert sum(naps) == pytest.approx(260, abs=1)


def test_ranks_that_do_not_start_have_the_time_to_start_and_no_more(paths, unit):
    naps = []
    says(paths, 0, "started", "met")
    assert not wait_until_ended(paths, unit, 60, lambda: sum(naps), naps.append, start_timeout=300)
    assert sum(naps) == pytest.approx(300)
    assert report(paths, unit)["reached"] == {"started": 1, "met": 1, "measuring": 0, "since": None}


def test_a_node_that_is_asked_late_is_given_its_whole_time(paths, unit):
    for local_rank in range(2):
        says(paths, local_rank, "started", "met", "measuring")
    naps = [5000.0]
    assert not wait_until_ended(paths, unit, 60, lambda: sum(naps), naps.append, start_timeout=300)
    assert sum(naps) == pytest.approx(5060)
    # And one whose ranks have ended meanwhile is waited for no more.
    unit.end()
    assert wait_until_ended(paths, unit, 60, lambda: sum(naps), naps.append, start_timeout=300)
    assert sum(naps) == pytest.approx(5060)
