# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A job's account names, or moves, what root writes to and what root starts: root does neither for it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox_jobs import shell
from tests.sandbox_nodes import run

from .conftest import ACCOUNT, JOB, LONGEST_S, NAME, NODE

Ask = Callable[..., dict[str, Any]]
HOME = f"/home/{ACCOUNT}"
AGENTS = f"/var/log/gaudi3_scale/agents/{NAME}"
RAN = f"{HOME}/ran"
# A program, or a Python, that keeps who ran it, and whether that could gain privileges.
TELLS = f"""#!/bin/sh
echo "$(id -u) $(sed -n 's/^NoNewPrivs:[[:space:]]*//p' /proc/self/status)" >> {RAN}
"""


def as_account(script: str) -> None:
    shell(NODE, f"runuser -u {ACCOUNT} -- sh -c {shlex.quote(script)}")


def has_written(path: str, text: str, mode: str = "755") -> None:
    as_account(f"mkdir -p {Path(path).parent}; printf '%s' {shlex.quote(text)} > {path}; chmod {mode} {path}")


def who_ran() -> list[list[str]]:
    return [line.split() for line in shell(NODE, f"cat {RAN} 2>/dev/null || true").splitlines()]


@pytest.fixture(autouse=True)
def home() -> Iterator[None]:
    yield
    shell(NODE, f"find {HOME} -mindepth 1 -delete")


@pytest.fixture
def task(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """One module of ours as root, and its result."""

    def played(module: str, *, check: bool = False, **options: Any) -> dict[str, Any]:
        tasks = [{"name": "Ask", f"gaudi3.scale.{module}": options, "ignore_errors": True, "check_mode": check}]
        begun = time.monotonic()
        done = run(tmp_path, [{"hosts": NODE, "become": True, "gather_facts": False, "tasks": tasks}])
        assert time.monotonic() - begun < LONGEST_S
        found = [event.get("event_data", {}).get("res", {}) for event in done.events]
        (answer,) = [one for one in found if "changed" in one]
        return answer

    return played


@pytest.mark.in_turn
@pytest.mark.parametrize("engine", [{}, {"supervision": {}}], ids=["torchrun", "supervised"])
def test_a_variable_names_no_directory_of_roots(launched: Ask, ask: Ask, engine: dict[str, Any]) -> None:
    """It was given the directory in which systemd writes the agent's log, and with that /etc/ld.so.preload."""
    named = f"PT_HPU_RECIPE_CACHE_CONFIG={Path(AGENTS).parent},false,1024"
    has_written(f"{HOME}/variables", f"{named}\n", "644")
    for _turn in range(2):
        ask("training_job", **{**JOB, **engine, "restart": True, "environment_files": [f"{HOME}/variables"]})
        assert shell(NODE, f"stat -c %U {AGENTS}").strip() == "root"
        as_account(f"rm -f {AGENTS}/agent.log; ln -sfn /etc/ld.so.preload {AGENTS}/agent.log || true")
    assert shell(NODE, "ls /etc/ld.so.preload 2>/dev/null || true") == ""
    # A place of its own is made for it, as itself.
    has_written(f"{HOME}/variables", f"PT_HPU_RECIPE_CACHE_CONFIG={HOME}/cache,false,1024\n", "644")
    launched(**engine, environment_files=[f"{HOME}/variables"])
    assert shell(NODE, f"stat -c %U {HOME}/cache/{NAME}").strip() == ACCOUNT


@pytest.mark.in_turn
def test_what_a_package_forks_at_a_launch_ends_with_the_question(launched: Ask) -> None:
    """It lived on without a unit, and could gain privileges."""
    forks = (
        "import os, subprocess\n"
        "subprocess.run(['sh', '-c', '''" + TELLS.partition("\n")[2].strip() + "'''])\n"
        "if os.fork() == 0:\n    os.setsid()\n    os.execvp('sleep', ['sleep', '98765'])\n"
    )
    has_written(f"{HOME}/mine/__init__.py", forks, "644")
    has_written(f"{HOME}/mine/train.py", "import time\ntime.sleep(60)\n", "644")
    launched(command=["-m", "mine.train"], working_directory=HOME)
    unit = f"gaudi3-scale-job-{NAME}.service"
    for pid in shell(NODE, "pgrep -f 'sleep 9876[5]' || true").split():
        assert unit in shell(NODE, f"cat /proc/{pid}/cgroup"), "it runs outside of the job's unit"
    assert who_ran()
    assert {no_new_privileges for _uid, no_new_privileges in who_ran()} == {"1"}
    assert "0" not in {uid for uid, _privileges in who_ran()}


@pytest.mark.in_turn
@pytest.mark.parametrize("check", [True, False], ids=["check mode", "launch"])
def test_mpirun_is_nobodys_way_to_root(task: Callable[..., dict[str, Any]], check: bool) -> None:
    has_written(f"{HOME}/mpirun", TELLS + 'echo "mpirun (Open MPI) 5.0.8"\n')
    task("training_job", check=check, **{**JOB, "engine": "mpirun", "mpi": {"mpirun": f"{HOME}/mpirun"}})
    task("training_job", name=NAME, state="absent")
    assert all(uid != "0" and privileges == "1" for uid, privileges in who_ran())
    assert who_ran() or not check


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("hpu_verify", {"release": "1.24.1", "cards": 8, "fail": False}),
        ("hpu_qualify_schedule", {"on_calendar": "Sun 03:00"}),
        ("hpu_qualify", {"level": "quick", "release": "1.24.1", "cards": 8}),
        ("tune_tool", {"do": "install"}),
    ],
    ids=["verify", "schedule", "qualify", "study"],
)
def test_no_environment_of_the_accounts_is_run_as_root(
    task: Callable[..., dict[str, Any]], module: str, options: dict[str, Any]
) -> None:
    has_written(f"{HOME}/venv/bin/python", TELLS + 'echo \'{"version": "2", "devices": 8}\'\n')
    as_account(f"mkdir -p {HOME}/venv/lib")
    task(module, venv=f"{HOME}/venv", **options)
    assert "0" not in {uid for uid, _privileges in who_ran()}
    assert shell(NODE, "ls /etc/systemd/system/gaudi3-scale-qualification-scheduled* 2>/dev/null || true") == ""


@pytest.mark.in_turn
def test_a_link_that_is_swapped_meanwhile_brings_nobody_to_root(task: Callable[..., dict[str, Any]]) -> None:
    """Root at the sixth try: what was looked at was not what was run."""
    has_written(f"{HOME}/venv/bin/python", TELLS)
    as_account(f"mkdir -p {HOME}/venv/lib")
    link = f"{HOME}/link"
    swaps = f"while :; do ln -sfn /opt/gaudi3_scale/venv {link}; ln -sfn {HOME}/venv {link}; done"
    shell(NODE, f"systemd-run --quiet --unit=mallory-swaps --uid={ACCOUNT} sh -c {shlex.quote(swaps)}")
    try:
        for _turn in range(8):
            task("hpu_qualify", level="quick", release="1.24.1", cards=8, venv=link, restart=True, detach=True)
    finally:
        shell(NODE, "systemctl stop mallory-swaps; systemctl stop gaudi3-scale-qualification || true")
    assert "0" not in {uid for uid, _privileges in who_ran()}


@pytest.mark.in_turn
def test_a_pipe_in_the_place_of_the_probe_holds_no_launch(launched: Ask) -> None:
    as_account(f"mkdir -p {HOME}/checkpoints && mkfifo {HOME}/checkpoints/.gaudi3_scale-{NAME}-{NODE}")
    launched(checkpoint_directory=f"{HOME}/checkpoints")


def test_the_unit_that_has_the_command_is_roots_to_read(launched: Ask) -> None:
    launched()
    assert shell(NODE, f"stat -c '%U %a' /etc/systemd/system/gaudi3-scale-job-{NAME}.service").split() == [
        "root",
        "600",
    ]
