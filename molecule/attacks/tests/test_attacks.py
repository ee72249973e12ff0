# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A job's account attacks whoever works for it as root. Root's files are compared before and after each test."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox_jobs import play, shell, wait_for
from tests.sandbox_nodes import SANDBOX

from .conftest import ACCOUNT, CONTROL, JOB, LOGS, NAME, NODE, PROGRAM, STATE, shows_nothing

UNIT = f"gaudi3-scale-job-{NAME}.service"
Ask = Callable[..., dict[str, Any]]
SUPERVISED = pytest.param({"supervision": {}}, id="supervised")
# The same programs write the unit, read the files and put them away of both.
EITHER = [pytest.param({}, id="torchrun", marks=pytest.mark.long), SUPERVISED]
# What root, or a reader for it, has ever opened, made, given away or removed by these names.
TARGETS = {
    f"{LOGS}/agent.log": "/etc/cron.d/hostile",
    f"{LOGS}/progress": "/etc",
    f"{LOGS}/ranks": "/home/innocent",
    f"{LOGS}/earlier": "/home",
    f"{LOGS}/point-0": "/root",
    f"{LOGS}/metrics.jsonl": "/root/secret",
    f"{LOGS}/events.jsonl": "/root/secret",
    f"{LOGS}/usage.jsonl": "/root/secret",
    f"{LOGS}/slurm-1.log": "/etc/shadow",
    f"{STATE}/supervision.json": "/etc/shadow",
    f"{STATE}/environment": "/root/secret",
    f"{STATE}/job.json": "/root/secret",
    f"{STATE}/status.json": "/etc/shadow",
    f"{STATE}/ended.json": "/etc/shadow",
    f"{STATE}/stop_requested": "/root/made",
    f"{STATE}/point-0": "/root",
}
LINKS = "; ".join(f"rm -rf {path} && ln -sfn {target} {path}" for path, target in TARGETS.items())
SWAPS = "; ".join(
    f"rm -rf {path}; ln -sfn {target} {path}; rm -f {path}; mkdir -p {path}" for path, target in TARGETS.items()
)
READ = [("training_job_info", {}), ("training_job_history", {})]
STOP = ("training_job", {"state": "stopped"})


def tried() -> dict[str, Any]:
    return json.loads(
        wait_for("the job's own word", lambda: shell(NODE, f"cat {STATE}/tried.json 2>/dev/null || true"))
    )


def as_account(script: str) -> None:
    shell(NODE, f"runuser -u {ACCOUNT} -- sh -c {shlex.quote(script)}")


@contextmanager
def meanwhile(script: str) -> Iterator[None]:
    """The account at it, over and over."""
    forever = f"while :; do {script}; done"
    command = ["podman", "exec", f"{SANDBOX}-{NODE}", "runuser", "-u", ACCOUNT, "--", "sh", "-c", forever]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as swapping:
        try:
            yield
        finally:
            shell(NODE, f"pkill -KILL -u {ACCOUNT} -f 'while :; do' || true")
            swapping.kill()


@pytest.mark.parametrize("engine", EITHER)
def test_a_job_can_change_nothing_of_roots(launched: Ask, engine: dict[str, Any]) -> None:
    launched(**engine)
    facts = tried()
    assert facts == {"could": [], "capabilities": 0, "no_new_privileges": "1"}
    owners = shell(NODE, f"stat -c '%U %a' {CONTROL} {CONTROL}/job.json {CONTROL}/environment").split()
    assert owners == ["root", "750", "root", "600", "root", "600"]


@pytest.mark.parametrize("engine", EITHER)
def test_units_are_confined(launched: Ask, engine: dict[str, Any]) -> None:
    launched(**engine)
    verdict = shell(NODE, f"systemd-analyze security --no-pager {UNIT} | tail -1")
    assert float(verdict.partition("service: ")[2].split()[0]) <= 5.0, verdict
    unit = shell(NODE, f"cat /etc/systemd/system/{UNIT}")
    assert "=+" not in unit
    assert f"append:{LOGS}" not in unit


@pytest.mark.in_turn
@pytest.mark.parametrize("engine", EITHER)
def test_links_in_place_of_all_it_may_write(launched: Ask, ask_in_turn: Ask, engine: dict[str, Any]) -> None:
    launched(**engine)
    tried()
    as_account(LINKS)
    ask_in_turn(*READ)
    # Begun once more, ended, and begun again after its end.
    launched(**engine)
    as_account(LINKS)
    ask_in_turn(STOP, *READ)
    as_account(LINKS)
    launched(**engine)
    assert shell(NODE, "stat -c %U /etc /home /home/innocent /root").split() == ["root"] * 4


@pytest.mark.long
@pytest.mark.parametrize("engine", EITHER)
def test_links_that_come_and_go_meanwhile(launched: Ask, ask_in_turn: Ask, engine: dict[str, Any]) -> None:
    launched(**engine)
    tried()
    with meanwhile(SWAPS):
        # A directory that goes away under its maker may refuse a start in a sentence.
        again = ("training_job", {**JOB, **engine, "restart": True})
        ask_in_turn(*READ, again, *READ, STOP, *READ, again, STOP)


@pytest.mark.in_turn
@pytest.mark.usefixtures("launched")
def test_following_and_reporting_while_links_come_and_go(tmp_path: Path) -> None:
    with meanwhile(SWAPS):
        _status, said = play(
            tmp_path / "followed",
            gaudi_training_name=NAME,
            gaudi_training_user=ACCOUNT,
            gaudi_training_hosts=[NODE],
            gaudi_training_processes_per_node=1,
            gaudi_training_command=[PROGRAM, "3"],
            gaudi_training_rendezvous_port=29870,
            gaudi_training_max_restarts=1,
            gaudi_training_follow_interval=1,
        )
    assert "PLAY RECAP" in said
    for page in (tmp_path / "followed/reports").glob("*"):
        shows_nothing(page.read_text(encoding="utf-8"))
    shows_nothing(said)


@pytest.mark.in_turn
def test_a_job_that_rewrites_its_own_environment_runs_nothing_as_root(launched: Ask, ask: Ask) -> None:
    launched()
    tried()
    programs = f"{STATE}/programs"
    for program in ("date", "mv", "printf", "rm"):
        script = f"#!/bin/sh\\nid -u >> {STATE}/ran_as\\n"
        as_account(f"mkdir -p {programs}; printf '{script}' > {programs}/{program}; chmod 755 {programs}/{program}")
    as_account(f"rm -f {STATE}/environment; echo PATH={programs}:/usr/bin > {STATE}/environment")
    shell(NODE, f"systemctl stop {UNIT}")
    launched()
    ask("training_job", state="stopped")
    assert "0" not in shell(NODE, f"cat {STATE}/ran_as 2>/dev/null || true").split()


@pytest.mark.in_turn
@pytest.mark.parametrize(
    "made",
    [
        pytest.param("rm -rf {path}; mkfifo {path}", id="pipe"),
        pytest.param("rm -rf {path}; ln -s /dev/zero {path}", id="device", marks=pytest.mark.long),
        pytest.param("rm -rf {path}; mkdir {path}", id="directory", marks=pytest.mark.long),
        pytest.param("rm -rf {path}; truncate --size 1T {path}", id="huge", marks=pytest.mark.long),
        pytest.param(
            "rm -rf {path}; head -c 300000 /dev/zero | tr '\\\\0' '[' > {path}", id="nested", marks=pytest.mark.long
        ),
        pytest.param(
            'rm -rf {path}; yes \'{{"kind":"step","step":1e999}}\' | head -c 20000000 > {path}',
            id="numbers",
            marks=pytest.mark.long,
        ),
    ],
)
def test_what_is_no_file_in_place_of_one(launched: Ask, ask_in_turn: Ask, made: str) -> None:
    launched(command=[PROGRAM, "0"])
    wait_for("its end", lambda: "ended.json" in shell(NODE, f"ls {STATE}"))
    files = [
        *(f"{STATE}/{name}.json" for name in ("status", "ended", "job", "started")),
        *(f"{LOGS}/{name}.jsonl" for name in ("metrics", "events", "usage")),
        f"{LOGS}/agent.log",
        *shell(NODE, f"find {LOGS}/ranks -name '*.log'").split(),
    ]
    as_account("; ".join(made.format(path=path) for path in files))
    ask_in_turn(*READ, STOP, *READ)
    launched()


def test_a_log_that_names_a_file_of_roots(launched: Ask, ask: Ask) -> None:
    """The agent's table says where a rank wrote its error; the account has written the table."""
    launched(command=[PROGRAM, "0"])
    wait_for("its end", lambda: "ended.json" in shell(NODE, f"ls {STATE}"))
    table = (
        "x FAILED\n  time      : 2026-11-21_09:12:27\n  host      : n\n  rank      : 0 (local_rank: 0)\n"
        "  exitcode  : 1 (pid: 5)\n  error_file: /root/secret\n"
    )
    as_account(f"printf '%s' {shlex.quote(table)} > {LOGS}/agent.log")
    assert ask("training_job_info")["failure"]["rank"] == 0


@pytest.mark.in_turn
def test_a_file_of_variables_of_the_accounts_own_is_read_as_the_account(launched: Ask, ask: Ask) -> None:
    own = f"/home/{ACCOUNT}/variables"
    as_account(f"ln -sfn /root/secret {own}")
    refused = ask("training_job", **{**JOB, "environment_files": [own]})
    assert "cannot be read as mallory" in refused["msg"]
    as_account(f"rm {own}; mkfifo {own}")
    ask("training_job", **{**JOB, "environment_files": [own]})
    as_account(f"rm {own}; echo MINE=yes > {own}")
    launched(environment_files=[own])
    pid = shell(NODE, f"systemctl show -P MainPID {UNIT}").strip()
    assert "MINE=yes" in shell(NODE, f"tr '\\0' '\\n' < /proc/{pid}/environ").splitlines()


def test_a_place_that_the_account_may_change_is_refused(ask: Ask) -> None:
    refused = ask("training_job", **{**JOB, "state_directory": f"/home/{ACCOUNT}/state"})
    assert "can be changed by mallory, the job's own account" in refused["msg"]
