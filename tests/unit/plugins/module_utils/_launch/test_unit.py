# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import shlex
import subprocess

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.description import SupervisionOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.torchrun import torchrun_argv
from ansible_collections.gaudi3.scale.plugins.module_utils._job.supervision import lease
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.confinement import confined
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.unit import (
    RECORD_END,
    RECORD_LAST_END,
    RECORD_STOP,
    environment_text,
    unit_text,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.unit_words import command_line
from ansible_collections.gaudi3.scale.tests.unit.described_job import PATHS, described_job
from ansible_collections.gaudi3.scale.tests.unit.memory_group import TAKE, V1, memory_group

from gaudi3_scale.supervisor.state import Rules

JOB = described_job(
    hosts=("n1", "n2"),
    command=("/home/u/100%.py", 'say "hi"', "a$b"),
    environment_files=("-/etc/gaudi3_scale/environment",),
    working_directory="/data/50% done",
    user="trainer",
    stop_timeout=45,
)


def test_the_unit():
    lines = unit_text(JOB, PATHS, torchrun_argv(JOB, PATHS), JOB.environment_files).splitlines()
    confined_to = confined(JOB, PATHS)
    assert [line for line in lines if not line.startswith("Exec") and line not in confined_to] == [
        "[Unit]",
        "Description=gaudi3.scale job llama: node 1 of 2",
        "Wants=network-online.target",
        "After=network-online.target",
        "",
        "[Service]",
        "Type=exec",
        "User=trainer",
        "WorkingDirectory=/data/50%% done",
        "EnvironmentFile=-/etc/gaudi3_scale/environment",
        "EnvironmentFile=/var/lib/gaudi3_scale/control/llama/environment",
        "StandardOutput=append:/var/log/gaudi3_scale/agents/llama/agent.log",
        "StandardError=inherit",
        "KillMode=mixed",
        "TimeoutStopSec=45",
        "Restart=no",
        "LimitMEMLOCK=infinity",
    ]
    start = next(line for line in lines if line.startswith("ExecStart="))
    assert start.startswith('ExecStart="/opt/venv/bin/torchrun" "--nnodes" "2" "--node-rank" "1" ')
    # $ is doubled once for torchrun's template and once for systemd.
    assert start.endswith(r'"/home/u/100%%.py" "say \"hi\"" "a$$$$b"')


@pytest.mark.parametrize("supervision", [None, SupervisionOptions()])
@pytest.mark.parametrize("checkpoints", ["", "/shared/llama"])
def test_ranks_start_in_the_jobs_own_directory_which_is_no_shared_one(supervision, checkpoints):
    job = described_job(hosts=("n1", "n2"), supervision=supervision, checkpoint_directory=checkpoints)
    lines = unit_text(job, PATHS, ("/usr/bin/python3", "x.pyz"), ()).splitlines()
    assert "WorkingDirectory=/var/lib/gaudi3_scale/jobs/llama" in lines
    assert next(line for line in lines if line.startswith("ReadWritePaths=")).startswith(
        'ReadWritePaths="-/var/lib/gaudi3_scale/jobs/llama"'
    )


def test_the_unit_of_a_supervisor_starts_at_boot_where_the_node_crashed():
    job = described_job(hosts=("n1", "n2"), supervision=SupervisionOptions())
    lines = unit_text(job, PATHS, ("/usr/bin/python3", "x.pyz"), ()).splitlines()
    assert lines[4:6] == [
        "ConditionPathExists=!/var/lib/gaudi3_scale/jobs/llama/ended.json",
        # Told to end, but killed before it could leave a record.
        "ConditionPathExists=!/var/lib/gaudi3_scale/control/llama/stop_requested",
    ]
    assert lines[-3:] == ["", "[Install]", "WantedBy=multi-user.target"]


@pytest.mark.parametrize("hosts", [("n1",), ("n1", "n2")])
def test_systemd_ends_a_silent_supervisor_within_its_lease_and_starts_a_killed_one_again(hosts):
    job = described_job(hosts=hosts, host="n1", supervision=SupervisionOptions(lost_after=15))
    lines = unit_text(job, PATHS, ("/usr/bin/python3", "x.pyz"), ()).splitlines()
    assert {"NotifyAccess=main", "WatchdogSec=12000ms", "WatchdogSignal=SIGKILL", "TimeoutAbortSec=1500ms"} <= {*lines}
    assert {"Type=exec", "KillMode=mixed", "Restart=on-abnormal", "RestartSec=100ms", "OOMPolicy=continue"} <= {*lines}
    assert lines.index("StartLimitBurst=10") < lines.index("[Service]")


def test_the_lease_in_the_unit_is_that_of_the_supervisor():
    options = SupervisionOptions(lost_after=7)
    assert lease(options) == Rules(("n1",), 1, 0, lost_after=7.0).lease


# The first seven were read back by systemd 252 as written on the left.
@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("plain", '"plain"'),
        ("", '""'),
        ("two words", '"two words"'),
        ("100%", '"100%%"'),
        ("a$b ${c}", '"a$$b $${c}"'),
        ('it\'s "so"', r'"it' + "'" + r's \"so\""'),
        ("back\\slash", r'"back\\slash"'),
        ("line\nend\t", r'"line\x0aend\x09"'),
        (";", '";"'),
        ("ü", '"ü"'),
    ],
)
def test_a_word_is_quoted_for_systemd(word, written):
    assert command_line([word]) == written


def test_the_end_of_the_service_is_recorded(tmp_path):
    environment = {"SERVICE_RESULT": "exit-code", "EXIT_CODE": "exited", "EXIT_STATUS": "1", "PATH": "/usr/bin:/bin"}
    target = tmp_path / "ended.json"
    subprocess.run(["/bin/sh", "-c", RECORD_END, "sh", str(target)], env=environment, check=True)
    assert target.read_text().startswith('{"result": "exit-code", "code": "exited", "status": "1", "time": 1')
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(("program", "result"), [(TAKE, "oom-kill"), ("exit(1)", "exit-code")])
def test_an_end_for_want_of_memory_is_recorded_where_systemd_does_not_see_it(tmp_path, program, result):
    environment = {"SERVICE_RESULT": "exit-code", "EXIT_CODE": "exited", "EXIT_STATUS": "1", "PATH": os.environ["PATH"]}
    script = f'echo $$ > "$3/cgroup.procs"; python3 -c "$4"; {RECORD_END}; echo $$ > {V1}/cgroup.procs'
    with memory_group() as group:
        words = [str(tmp_path / "ended.json"), group.name, str(group), program]
        subprocess.run(["/bin/sh", "-c", script, "sh", *words], env=environment, check=True, capture_output=True)
    assert json.loads((tmp_path / "ended.json").read_text())["result"] == result


# What systemd.service(5) has for Restart=on-abnormal, by the $SERVICE_RESULT of systemd.exec(5).
@pytest.mark.parametrize("result", ["signal", "core-dump", "watchdog", "resources"])
def test_an_end_after_which_systemd_starts_a_supervisor_again_is_not_recorded(tmp_path, result):
    assert not recorded(tmp_path, result)


@pytest.mark.parametrize("result", ["success", "exit-code", "timeout"])
def test_the_last_end_of_a_supervisor_is_recorded(tmp_path, result):
    assert recorded(tmp_path, result)


def recorded(directory, result):
    environment = {"SERVICE_RESULT": result, "EXIT_CODE": "killed", "EXIT_STATUS": "KILL", "PATH": "/usr/bin:/bin"}
    target = directory / "ended.json"
    subprocess.run(["/bin/sh", "-c", RECORD_LAST_END, "sh", str(target)], env=environment, check=True)
    return target.exists() and target.read_text().startswith(f'{{"result": "{result}", "code": "killed"')


@pytest.mark.parametrize(("main_pid", "requested"), [({"MAINPID": "17"}, True), ({}, False)])
def test_a_stop_is_recorded_only_while_the_main_process_is_there(tmp_path, main_pid, requested):
    marker = tmp_path / "stop_requested"
    environment = {"PATH": "/usr/bin:/bin", **main_pid}
    subprocess.run(["/bin/sh", "-c", RECORD_STOP, "sh", str(marker)], env=environment, check=True)
    assert marker.exists() == requested


def test_the_environment_file_is_sorted_and_a_shell_reads_it(tmp_path):
    values = {"B": 'a "b" $c `d` \\e', "A": "1", "EMPTY": ""}
    text = environment_text(values)
    assert [line.partition("=")[0] for line in text.splitlines()] == ["A", "B", "EMPTY"]
    (tmp_path / "file").write_text(text)
    shell = f'. {shlex.quote(str(tmp_path / "file"))}; printf %s "$B"'
    assert subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, check=True).stdout == values["B"]
