# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import pwd
import re
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.report import report
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.state import read_worker_group
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import SupervisionOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.plan import check
from ansible_collections.gaudi3.scale.plugins.module_utils._job.supervision import launch_of
from ansible_collections.gaudi3.scale.plugins.module_utils._launch import control as job_control
from ansible_collections.gaudi3.scale.plugins.module_utils._launch import stop as job_stop
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.control import prepare, start
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.launch import StartOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.stop import remove, stop
from ansible_collections.gaudi3.scale.tests.unit.described_job import job_on
from ansible_collections.gaudi3.scale.tests.unit.systemd_fake import JobUnit


@pytest.fixture
def paths(tmp_path):
    return JobPaths("demo", str(tmp_path / "state"), str(tmp_path / "log"), str(tmp_path / "units"))


@pytest.fixture
def unit(paths):
    return JobUnit(paths)


@pytest.fixture
def job(tmp_path):
    """The worker group of the second of two nodes, on a node that has all it needs."""
    return job_on(tmp_path, host="n2")


def launch(job, paths, unit, *, restart=False, check_mode=False):
    return start(job, paths, unit, StartOptions(restart=restart, check_mode=check_mode))


def test_a_first_start(job, paths, unit):
    result = launch(job, paths, unit)
    assert (result["changed"], result["state"]) == (True, "running")
    assert unit.calls == ["daemon-reload", "reset-failed", "start"]
    assert json.loads(Path(paths.description).read_text())["command"] == ["x.py"]
    modes = [Path(path).stat().st_mode & 0o777 for path in (paths.unit_file, paths.environment, paths.description)]
    assert modes == [0o600, 0o600, 0o600]
    assert [change["after_header"].partition(" ")[0] for change in result["diff"]] == [
        paths.unit_file,
        paths.environment,
        paths.description,
    ]


def test_check_mode_shows_it_all_and_touches_nothing(job, paths, unit, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    result = launch(replace(job, venv="/not/there/yet"), paths, unit, check_mode=True)
    assert (result["changed"], result["state"]) == (True, "running")
    assert result["argv"][0] == "/not/there/yet/bin/torchrun"
    assert 'ExecStart="/not/there/yet/bin/torchrun"' in result["diff"][0]["after"]
    assert unit.calls == []
    assert sorted(tmp_path.rglob("*")) == before


def test_a_job_that_runs_is_left_alone(job, paths, unit):
    launch(job, paths, unit)
    result = launch(job, paths, unit)
    assert (result["changed"], result["state"], result["diff"]) == (False, "running", [])
    assert unit.calls.count("start") == 1


def test_a_job_that_ended_well_is_left_alone_unless_told(job, paths, unit):
    launch(job, paths, unit)
    unit.end()
    assert launch(job, paths, unit) | {"argv": [], "launch": {}} == {
        "changed": False,
        "state": "succeeded",
        "unit": paths.unit,
        "argv": [],
        "launch": {},
        "run": "",
        "library": "",
        "diff": [],
        "control_directory": paths.control,
        "job_directory": paths.directory,
        "log_directory": paths.logs,
    }
    assert launch(job, paths, unit, restart=True)["changed"]
    assert read_worker_group(paths, unit).state == "running"


@pytest.mark.parametrize("record", [("exit-code", "exited", "1"), ("signal", "killed", "KILL")])
def test_a_job_that_failed_is_started_again_and_its_past_does_not_count(job, paths, unit, record):
    launch(job, paths, unit)
    unit.end(*record)
    assert read_worker_group(paths, unit).state == "failed"
    assert launch(job, paths, unit)["changed"]
    assert read_worker_group(paths, unit).state == "running"


def test_a_stopped_job_is_started_again(job, paths, unit):
    launch(job, paths, unit)
    stop(paths, unit, check_mode=False)
    assert launch(job, paths, unit)["changed"]
    unit.end()
    assert read_worker_group(paths, unit).state == "succeeded"


def test_another_description_is_refused_while_it_runs_and_starts_anew_afterwards(job, paths, unit):
    launch(job, paths, unit)
    other = replace(job, processes_per_node=4)
    with pytest.raises(GaudiError, match="job demo is running with another description: processes_per_node is 2,"):
        launch(other, paths, unit, restart=True)
    assert unit.calls.count("start") == 1
    unit.end()
    assert launch(other, paths, unit)["changed"]
    assert json.loads(Path(paths.description).read_text())["processes_per_node"] == 4


def test_restart_ends_what_runs_first(job, paths, unit):
    launch(job, paths, unit)
    assert launch(job, paths, unit, restart=True)["changed"]
    assert unit.calls == [
        "daemon-reload",
        "reset-failed",
        "start",
        "stop",
        "reset-failed",
        "daemon-reload",
        "reset-failed",
        "start",
    ]


def test_logs_of_the_last_runs_are_kept(job, paths, unit):
    for number in range(8):
        launch(job, paths, unit)
        Path(paths.metrics).write_text(str(number))
        Path(paths.directory, "checkpoints").mkdir(exist_ok=True)
        unit.end("exit-code", "exited", "1")
    launch(job, paths, unit)
    assert not Path(paths.metrics).exists()
    kept = sorted(path.read_text() for path in Path(paths.earlier).glob("*/metrics.jsonl"))
    assert kept == ["3", "4", "5", "6", "7"]
    assert Path(paths.directory, "checkpoints").is_dir()


def test_a_start_that_fails_brings_the_journal(job, paths):
    unit = JobUnit(paths, start_fails="Main process exited, status=203/EXEC")
    with pytest.raises(GaudiError, match="job demo did not start: Main process exited, status=203/EXEC"):
        launch(job, paths, unit)
    assert read_worker_group(paths, unit).state == "failed"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"venv": "/nowhere"}, "/nowhere/bin/torchrun cannot be executed; install the training stack first"),
        ({"working_directory": "/nowhere"}, "working_directory /nowhere is not a directory on this node"),
        ({"command": ("/nowhere/y.py",)}, "command: there is no script '/nowhere/y.py' on this node"),
        ({"environment_files": ("/nowhere/flags",)}, "environment_files: there is no /nowhere/flags on this node"),
        ({"user": "no-such-account"}, "user no-such-account does not exist on this node"),
        ({"rendezvous_address": "no-such-host.invalid"}, "rendezvous_address no-such-host.invalid cannot be reached"),
    ],
)
def test_what_the_node_lacks_is_told_before_anything_is_touched(job, paths, unit, tmp_path, changes, said):
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(GaudiError, match=said):
        launch(replace(job, **changes), paths, unit)
    assert unit.calls == []
    assert sorted(tmp_path.rglob("*")) == before


def test_an_optional_environment_file_may_be_missing(job, paths, unit):
    assert launch(replace(job, environment_files=("-/nowhere/flags",)), paths, unit)["changed"]


def test_a_port_in_use_is_refused_on_the_first_node_only(job, paths, unit):
    with socket.socket() as server:
        server.bind(("", 0))
        server.listen()
        busy = replace(job, rendezvous_port=server.getsockname()[1])
        with pytest.raises(GaudiError, match=f"rendezvous_port {busy.rendezvous_port} is in use by "):
            launch(replace(busy, host="n1"), paths, unit)
        assert launch(busy, paths, unit)["changed"]


def test_stopping(job, paths, unit):
    launch(job, paths, unit)
    assert stop(paths, unit, check_mode=True)["changed"]
    assert unit.active
    result = stop(paths, unit, check_mode=False)
    assert (result["changed"], result["state"]) == (True, "stopped")
    again = stop(paths, unit, check_mode=False)
    assert (again["changed"], again["state"]) == (False, "stopped")


def test_stopping_what_is_not_there_names_what_is(job, paths, unit):
    result = stop(paths, unit, check_mode=False)
    assert (result["changed"], result["state"], result["jobs"]) == (False, "absent", [])
    assert unit.calls == []
    launch(job, paths, unit)
    assert stop(replace(paths, name="dem"), JobUnit(replace(paths, name="dem")), check_mode=False)["jobs"] == ["demo"]
    assert "jobs" not in stop(paths, unit, check_mode=False)


def test_a_stop_that_fails_is_told(job, paths):
    unit = JobUnit(paths, stop_fails="Failed to stop: connection timed out")
    launch(job, paths, unit)
    with pytest.raises(GaudiError, match="job demo could not be stopped: Failed to stop: connection timed out"):
        stop(paths, unit, check_mode=False)


def test_a_stop_that_leaves_a_process_is_told(job, paths, unit, monkeypatch):
    launch(job, paths, unit)
    monkeypatch.setattr(job_stop, "processes_in", lambda _group: [41, 42])
    with pytest.raises(GaudiError, match=r"processes are left .process ids 41, 42.") as caught:
        stop(paths, unit, check_mode=False)
    assert caught.value.facts == {"processes": [41, 42]}


def test_forgetting_keeps_checkpoints_and_logs(job, paths, unit):
    launch(job, paths, unit)
    Path(paths.directory, "checkpoints").mkdir()
    Path(paths.metrics).touch()
    assert remove(paths, unit, check_mode=True)["changed"]
    assert Path(paths.unit_file).exists()
    result = remove(paths, unit, check_mode=False)
    assert (result["changed"], result["state"]) == (True, "absent")
    assert sorted(path.name for path in Path(paths.directory).iterdir()) == ["checkpoints"]
    assert Path(paths.metrics).exists()
    assert not Path(paths.unit_file).exists()
    assert remove(paths, unit, check_mode=False)["changed"] is False


def test_logs_set_aside_within_two_seconds_keep_their_order(job, paths, unit, monkeypatch):
    """The end of one second and the beginning of the next: the name comes from one look at the clock."""
    ticks = iter(range(1_700_000_000_900_000_000, 1_700_000_002_000_000_000, 100_000_000))
    monkeypatch.setattr("time.time_ns", lambda: next(ticks))
    for number in range(4):
        launch(job, paths, unit)
        Path(paths.metrics).write_text(str(number))
        unit.end("exit-code", "exited", "1")
    launch(job, paths, unit)
    kept = sorted(Path(paths.earlier).iterdir())
    assert [(path / "metrics.jsonl").read_text() for path in kept] == ["0", "1", "2", "3"]
    assert kept[0].name == "20231114T221321.000000000Z"


def test_a_job_has_recipes_of_its_own_below_the_node_cache(job, paths, unit, tmp_path):
    flags = tmp_path / "flags"
    flags.write_text(f"PT_HPU_LAZY_MODE=0\nPT_HPU_RECIPE_CACHE_CONFIG={tmp_path}/recipes/1.24.1-482/ab,false,8\n")
    with_flags = replace(job, environment_files=(f"-{flags}", "-/nonexistent"))
    launch(with_flags, paths, unit, check_mode=True)
    assert not (tmp_path / "recipes").exists()
    launch(with_flags, paths, unit)
    mine = f"{tmp_path}/recipes/1.24.1-482/ab/demo"
    assert f"PT_HPU_RECIPE_CACHE_CONFIG={mine},false,8" in Path(paths.environment).read_text().splitlines()
    assert Path(mine).is_dir()


def test_a_launch_is_of_the_variables_that_were_checked_also_where_their_file_changes_meanwhile(
    job, paths, unit, tmp_path
):
    flags = tmp_path / "flags"
    flags.write_text(f"PT_HPU_RECIPE_CACHE_CONFIG={tmp_path}/first,false,8\n")

    def run(argv, **more):
        # While the imports are looked for.
        if argv[0].endswith("/bin/python"):
            flags.write_text(f"PT_HPU_RECIPE_CACHE_CONFIG={tmp_path}/second,false,8\n")
        return unit(argv, **more)

    start(replace(job, environment_files=(f"-{flags}",)), paths, run)
    assert "/second," in flags.read_text()
    assert f"PT_HPU_RECIPE_CACHE_CONFIG={tmp_path}/first/demo,false,8\n" in Path(paths.environment).read_text()
    assert ((tmp_path / "first/demo").is_dir(), (tmp_path / "second").exists()) == (True, False)


def test_a_job_that_places_its_recipes_itself_is_left_to_it(job, paths, unit, tmp_path):
    flags = tmp_path / "flags"
    flags.write_text(f"PT_HPU_RECIPE_CACHE_CONFIG={tmp_path}/recipes,false,8\n")
    own = {"PT_HPU_RECIPE_CACHE_CONFIG": "/mine,false,1"}
    launch(replace(job, environment_files=(f"-{flags}",), environment=own), paths, unit)
    assert "PT_HPU_RECIPE_CACHE_CONFIG=/mine,false,1" in Path(paths.environment).read_text()
    assert not (tmp_path / "recipes").exists()


def test_flags_that_only_systemd_can_read_stop_no_job(job, paths, unit, tmp_path):
    flags = tmp_path / "flags"
    flags.write_text("A=b c 'd'\n")
    assert launch(replace(job, environment_files=(f"-{flags}",)), paths, unit)["changed"]
    assert "RECIPE" not in Path(paths.environment).read_text()


def test_replace_ends_what_runs_and_shows_the_difference(job, paths, unit):
    launch(job, paths, unit)
    other = replace(job, processes_per_node=4)
    shown = start(other, paths, unit, StartOptions(check_mode=True, replace=True))
    assert '"processes_per_node": 2' in shown["diff"][-1]["before"]
    assert '"processes_per_node": 4' in shown["diff"][-1]["after"]
    assert unit.calls.count("stop") == 0
    assert start(other, paths, unit, StartOptions(replace=True))["changed"]
    assert (unit.calls.count("stop"), unit.calls.count("start")) == (1, 2)
    assert json.loads(Path(paths.description).read_text())["processes_per_node"] == 4
    # The same again is what runs.
    assert start(other, paths, unit, StartOptions(replace=True))["changed"] is False


def test_of_two_launches_at_once_the_second_finds_the_first_even_if_it_was_to_restart(job, paths, unit, monkeypatch):
    first = {}

    def somebody_is_faster(*arguments, **more):
        # While the second one looks at the node, the first one has started the job.
        if not first:
            first["result"] = "being made"
            first["result"] = launch(job, paths, unit, restart=True)

    monkeypatch.setattr(job_control, "check_node", somebody_is_faster)
    second = launch(job, paths, unit, restart=True)
    assert (first["result"]["changed"], second["changed"], second["state"]) == (True, False, "running")
    assert unit.calls == ["daemon-reload", "reset-failed", "start"]


def test_preparing_looks_and_starts_nothing(job, paths, unit):
    result = prepare(job, paths, unit)
    assert (result["state"], result["changed"], unit.calls) == ("prepared", True, [])
    assert Path(paths.ranks).is_dir()
    with pytest.raises(GaudiError, match="/nowhere/bin/torchrun cannot be executed"):
        prepare(replace(job, venv="/nowhere"), paths, unit)
    launch(job, paths, unit)
    # What runs needs nothing more.
    Path(job.working_directory, "x.py").unlink()
    assert prepare(job, paths, unit)["state"] == "running"
    with pytest.raises(GaudiError, match="another description"):
        prepare(replace(job, processes_per_node=4), paths, unit)


@pytest.mark.parametrize(
    ("ended", "state"), [(None, "running"), ((), "succeeded"), (("exit-code", "exited", "1"), "failed")]
)
def test_a_node_on_which_it_begins_anew_is_prepared_whatever_was_there(job, paths, unit, ended, state):
    """Else a launch would begin on this node alone, and have the others join what it is about to end."""
    launch(job, paths, unit)
    if ended is not None:
        unit.end(*ended)
    assert prepare(job, paths, unit, StartOptions(restart=True))["state"] == "prepared"
    assert read_worker_group(paths, unit).state == state


def test_a_program_that_cannot_be_imported_here_is_refused_before_anything_is_touched(job, paths, unit, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    unit.imports = '{"missing": ["transformers"]}'
    with pytest.raises(GaudiError, match=r"x\.py cannot be imported: \S+/venv has no module transformers; install"):
        launch(job, paths, unit)
    assert unit.calls == []
    assert sorted(tmp_path.rglob("*")) == before


def through_mpirun(job):
    return replace(job, engine="mpirun", hosts=("n2", "n1"))


def test_mpirun_is_one_unit_on_the_first_host(job, paths, unit):
    result = launch(through_mpirun(job), paths, unit)
    assert result["changed"]
    assert unit.calls == ["daemon-reload", "reset-failed", "start"]
    assert 'ExecStart="mpirun" ' in Path(paths.unit_file).read_text()
    assert Path(paths.host_file).read_text() == "n2 slots=2\nn1 slots=2\n"
    assert "MASTER_ADDR=127.0.0.1\n" in Path(paths.environment).read_text()
    assert launch(through_mpirun(job), paths, unit)["changed"] is False
    elsewhere = replace(paths, name="other")
    other = launch(replace(through_mpirun(job), hosts=("n1", "n2")), elsewhere, unit)
    assert (other["state"], other["argv"]) == ("prepared", [])


def test_a_launch_asks_for_the_version_of_open_mpi_once(job, paths, unit):
    asked = []

    def run(argv, **more):
        asked.extend(argv[:1])
        return unit(argv, **more)

    start(through_mpirun(job), paths, run)
    assert asked.count("mpirun") == 1


def test_a_host_without_mpirun_is_told_and_check_mode_shows_what_the_newest_release_has(job, paths, unit):
    unit.mpirun = ""
    shown = launch(through_mpirun(job), paths, unit, check_mode=True)
    assert shown["argv"][0] == "mpirun"
    assert "--rank-by slot" in " ".join(shown["argv"])
    with pytest.raises(GaudiError, match="engine mpirun: mpirun is not installed on n2; install Open MPI there"):
        launch(through_mpirun(job), paths, unit)
    assert not Path(paths.unit_file).exists()


def test_a_job_goes_from_one_engine_to_another(job, paths, unit):
    launch(job, paths, unit)
    with pytest.raises(GaudiError, match="engine is 'torchrun', asked for 'mpirun'"):
        launch(replace(job, engine="mpirun", hosts=("n2", "n1")), paths, unit)


@pytest.fixture
def supervised(job):
    return replace(job, supervision=SupervisionOptions(spares=("n3",)))


def secret(paths):
    return json.loads(Path(paths.supervision).read_text())["key"]


def test_the_first_node_makes_a_secret_that_nobody_is_shown(supervised, paths, unit):
    result = launch(supervised, paths, unit)
    assert len(bytes.fromhex(secret(paths))) == 32
    reported, account = Path(paths.supervision).stat(), pwd.getpwnam(supervised.user)
    # Root's, and its account's to read.
    assert (reported.st_uid, reported.st_gid, reported.st_mode & 0o777) == (os.geteuid(), account.pw_gid, 0o640)
    assert secret(paths) not in json.dumps(result)
    assert paths.supervision not in [change["after_header"].partition(" ")[0] for change in result["diff"]]
    program = f'"{supervised.venv}/bin/python" "-I" "-m" "gaudi3_scale.supervisor" "{paths.supervision}"'
    assert f"ExecStart={program}" in Path(paths.unit_file).read_text()
    before = secret(paths)
    assert launch(supervised, paths, unit)["changed"] is False
    assert secret(paths) == before


def test_only_a_node_with_a_supervisor_starts_its_share_at_boot(supervised, paths, unit):
    launch(supervised, paths, unit)
    assert unit.calls == ["enable", "reset-failed", "start"]
    unit.calls.clear()
    start(through_mpirun(replace(supervised, supervision=None)), paths, unit, StartOptions(replace=True))
    assert unit.calls == ["stop", "reset-failed", "disable", "daemon-reload", "reset-failed", "start"]
    start(supervised, paths, unit, StartOptions(replace=True))
    unit.calls.clear()
    remove(paths, unit, check_mode=False)
    assert unit.calls == ["stop", "reset-failed", "disable", "daemon-reload"]


def test_a_node_joins_the_run_that_another_one_has_begun(supervised, paths, unit):
    joining = replace(supervised, key="ab" * 32)
    assert launch(joining, paths, unit)["changed"]
    assert secret(paths) == "ab" * 32
    assert launch(joining, paths, unit)["changed"] is False
    # It went down and comes back.
    unit.end("exit-code", "exited", "1")
    assert launch(joining, paths, unit)["changed"]
    # Another launch was faster on the other nodes.
    assert launch(replace(supervised, key="cd" * 32), paths, unit)["changed"]
    assert secret(paths) == "cd" * 32
    assert read_worker_group(paths, unit).state == "running"


def test_nodes_with_one_new_secret_begin_one_run_unless_one_runs_already(supervised, paths, unit):
    begun = launch(replace(supervised, new_key="ab" * 32), paths, unit)
    assert (secret(paths), begun["run"]) == ("ab" * 32, launch_of(bytes.fromhex("ab" * 32)))
    again = launch(replace(supervised, new_key="cd" * 32), paths, unit)
    assert (again["changed"], again["run"], secret(paths)) == (False, begun["run"], "ab" * 32)
    assert "ab" * 32 not in json.dumps([begun, again])


def test_a_witness_needs_no_cards_no_script_and_no_port_for_ranks(supervised, paths, unit, tmp_path):
    options = replace(supervised.supervision, witness="login1")
    described = replace(supervised, host="login1", supervision=options, device="hpu", command=("/nowhere.py",))
    unit.imports = '{"missing": ["transformers"]}'
    with socket.socket() as server:
        server.bind(("", described.rendezvous_port))
        server.listen()
        worker_group = check(replace(described, environment_files=("/nowhere/flags",)), 0)
        assert prepare(worker_group, paths, unit, StartOptions(kernel_root=str(tmp_path)))["state"] == "prepared"
        assert launch(worker_group, paths, unit)["changed"]
    assert votes(paths)["launch"] == read_worker_group(paths, unit).launch
    assert report(paths, unit)["is_witness"] is True
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
        pytest.raises(GaudiError, match=r"\(UDP\) is in use by "),
    ):
        other.bind(("", worker_group.rendezvous_port + 1))
        unit.end("exit-code", "exited", "1")
        prepare(worker_group, paths, unit)


def test_a_node_without_the_library_is_refused_before_anything_is_touched(supervised, paths, unit, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    unit.library = '{"version": "", "supervisor": false}'
    for begin in (prepare, start):
        with pytest.raises(GaudiError, match=f"no supervisor can be run here: {supervised.venv} has no gaudi3_scale"):
            begin(supervised, paths, unit)
    assert sorted(tmp_path.rglob("*")) == before
    shown = launch(supervised, paths, unit, check_mode=True)
    assert (shown["library"], shown["changed"]) == ("", True)


def test_the_version_that_runs_is_told_also_after_another_was_installed(supervised, paths, unit):
    assert prepare(supervised, paths, unit)["library"] == "0.1.0"
    assert launch(supervised, paths, unit)["library"] == "0.1.0"
    unit.library = '{"version": "0.2.0", "supervisor": true}'
    assert prepare(supervised, paths, unit)["library"] == "0.1.0"
    assert launch(supervised, paths, unit)["library"] == "0.1.0"
    assert launch(supervised, paths, unit, restart=True)["library"] == "0.2.0"


def votes(paths):
    return json.loads(Path(paths.votes).read_text())


def test_a_new_run_begins_without_votes_and_a_node_that_joins_it_again_keeps_its_own(supervised, paths, unit):
    first, other = ({"launch": launch_of(bytes.fromhex(key * 32))} for key in ("ab", "cd"))
    launch(replace(supervised, new_key="ab" * 32), paths, unit)
    assert votes(paths) == first
    voted = {**first, "promised": [3, 1]}
    Path(paths.votes).write_text(json.dumps(voted))
    # Nothing is started; then it went down and joins the same run.
    launch(replace(supervised, new_key="cd" * 32), paths, unit)
    unit.end("exit-code", "exited", "1")
    assert launch(replace(supervised, key="ab" * 32), paths, unit)["changed"]
    assert votes(paths) == voted
    # Cut off half-way: what says that the node was in the run is gone, its votes are not.
    unit.end("exit-code", "exited", "1")
    Path(paths.started).unlink()
    assert launch(replace(supervised, key="ab" * 32), paths, unit)["changed"]
    assert votes(paths) == voted
    # Another run.
    assert launch(replace(supervised, key="cd" * 32), paths, unit)["changed"]
    assert votes(paths) == other
    assert json.loads(Path(paths.supervision).read_text())["votes"] == paths.votes
    remove(paths, unit, check_mode=False)
    assert not Path(paths.votes).exists()


def test_a_node_that_has_lost_its_votes_is_not_made_to_look_as_if_it_had_none(supervised, paths, unit):
    joining = replace(supervised, key="ab" * 32)
    launch(joining, paths, unit)
    Path(paths.votes).unlink()
    unit.end("exit-code", "exited", "1")
    assert launch(joining, paths, unit)["changed"]
    assert not Path(paths.votes).exists()


def test_votes_are_on_the_disk_before_the_supervisor_starts(supervised, paths, unit):
    """Also where a run before this one left something in the way of the new file."""
    launch(replace(supervised, key="cd" * 32), paths, unit)
    unit.end("exit-code", "exited", "1")
    os.mkfifo(f"{paths.votes}.new")
    seen = []
    starting = unit._start
    unit._start = lambda: (seen.append(votes(paths)["launch"]), starting())[1]
    launch(replace(supervised, key="ab" * 32), paths, unit)
    assert seen == [launch_of(bytes.fromhex("ab" * 32))]
    assert Path(paths.votes).stat().st_uid == pwd.getpwnam(supervised.user).pw_uid
    assert not os.path.lexists(f"{paths.votes}.new")


def test_a_job_without_supervisors_votes_on_nothing(job, paths, unit):
    launch(job, paths, unit)
    assert not Path(paths.votes).exists()


def test_a_share_stands_as_its_supervisor_says_the_whole_job_does(supervised, paths, unit):
    launch(supervised, paths, unit)
    for outcome in ("failed", "stopped", "succeeded"):
        Path(paths.status).write_text(json.dumps({"time": 1.0, "outcome": outcome}))
        unit.end("exit-code", "exited", "1")
        assert read_worker_group(paths, unit).state == outcome


def test_a_stop_is_announced_before_the_signal(supervised, paths, unit):
    """A supervisor without the announcement takes its node to be going down, and the others go on."""
    launch(supervised, paths, unit)
    announced = []
    unit.start_fails = ""
    ending = unit._stop
    unit._stop = lambda: (announced.append(Path(paths.stop_requested).exists()), ending())[1]
    stop(paths, unit, check_mode=False)
    assert announced == [True]


def test_any_node_may_come_to_lead_so_both_its_ports_have_to_be_free(supervised, paths, unit):
    for kind, port, said in (
        (
            socket.SOCK_STREAM,
            supervised.rendezvous_port,
            f"rendezvous_port {supervised.rendezvous_port} is in use by ",
        ),
        (socket.SOCK_DGRAM, supervised.rendezvous_port + 1, "(UDP) is in use by "),
    ):
        with socket.socket(socket.AF_INET, kind) as other:
            other.bind(("", port))
            if kind == socket.SOCK_STREAM:
                other.listen()
            with pytest.raises(GaudiError, match=re.escape(said)):
                prepare(supervised, paths, unit)
    assert prepare(supervised, paths, unit)["state"] == "prepared"


def test_a_node_whose_cards_are_not_healthy_is_refused_and_named(supervised, paths, unit, tmp_path):
    """A node without any card, which is the least healthy one."""
    sick = replace(supervised, device="hpu")
    with pytest.raises(GaudiError, match="n2 cannot take part: its cards are not all healthy"):
        prepare(sick, paths, unit, StartOptions(kernel_root=str(tmp_path)))
    assert not Path(paths.unit_file).exists()
