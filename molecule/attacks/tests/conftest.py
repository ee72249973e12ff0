# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The hostile account on its node, what root has there, and questions about its job."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.podman import podman
from tests.sandbox_jobs import shell
from tests.sandbox_nodes import SANDBOX, run

NODE, ACCOUNT, NAME = "node1", "mallory", "hostile"
PROGRAM = "/opt/programs/hostile.py"
STATE, LOGS = f"/var/lib/gaudi3_scale/jobs/{NAME}", f"/var/log/gaudi3_scale/jobs/{NAME}"
CONTROL = f"/var/lib/gaudi3_scale/control/{NAME}"
SECRET = "words that are root's alone"
# Of one play over one module; what hangs does so for ever.
LONGEST_S = 120.0
JOB: dict[str, Any] = {
    "name": NAME,
    "user": ACCOUNT,
    "hosts": [NODE],
    "host": NODE,
    "processes_per_node": 1,
    "rendezvous_address": "127.0.0.1",
    "rendezvous_port": 29870,
    "command": [PROGRAM, "600"],
    "device": "cpu",
    "bind": "none",
    "stop_timeout": 5,
}
# Everything of root's: path, owner, mode, link and content. Ansible's own files and the job's unit come and go.
ROOTS = r"""for place in /etc /root /home/innocent /usr/local /var/spool /opt/programs; do
find $place -xdev \( -path ~root/.ansible -o -path /etc/systemd/system -o -name .cache \) -prune \
  -o -printf '%p %U %G %m %y %l ' -a \( -type f -exec sha256sum {} \; -o -printf '\n' \)
done"""


@pytest.fixture(scope="session", autouse=True)
def nodes(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The training stack, the account and what it would like to have."""
    stack = run(tmp_path_factory.mktemp("stack"), "venv")
    assert stack.status == "successful", stack.stdout.read()[-4000:]
    shell(NODE, f"id {ACCOUNT} >/dev/null 2>&1 || useradd --create-home {ACCOUNT}")
    shell(NODE, "mkdir -p /opt/programs /home/innocent && touch /home/innocent/thesis")
    shell(NODE, f"echo {shlex.quote(f'SECRET={SECRET}')} > /root/secret && chmod 600 /root/secret")
    podman("cp", str(Path(__file__).with_name("hostile.py")), f"{SANDBOX}-{NODE}:{PROGRAM}")


@pytest.fixture(autouse=True)
def roots_files() -> Iterator[None]:
    """Root's files, before and after whatever the account did."""
    before = shell(NODE, ROOTS)
    yield
    after = shell(NODE, ROOTS)
    assert sorted(set(after.splitlines()) ^ set(before.splitlines())) == []


def shows_nothing(screen: str) -> None:
    """Nothing that root alone may read was printed."""
    assert SECRET not in screen
    assert "root:*:" not in screen


@pytest.fixture
def ask_in_turn(tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Modules asked about the job, each with its options, with ``--diff``: their results, which came, and in time."""

    def asked(*questions: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
        tasks = [
            {"name": "Ask", f"gaudi3.scale.{module}": {"name": NAME, **options}, "ignore_errors": True}
            for module, options in questions
        ]
        begun = time.monotonic()
        plays = [{"hosts": NODE, "become": True, "gather_facts": False, "tasks": tasks}]
        played = run(tmp_path, plays, arguments="--diff")
        assert time.monotonic() - begun < LONGEST_S * len(questions)
        screen = played.stdout.read()
        shows_nothing(screen)
        reported = [event.get("event_data", {}).get("res", {}) for event in played.events]
        answers = [res for res in reported if "changed" in res]
        # Of very long answers ansible-runner has no event; the screen has all.
        assert screen.count("TASK [Ask]") == len(questions), screen
        assert "PLAY RECAP" in screen
        # What a module says that did not expect what it met; a rank's own words may have one as well.
        crashes = [answer.get(key) for answer in answers for key in ("exception", "module_stderr", "module_stdout")]
        assert "Traceback" not in str(crashes)
        return answers

    return asked


@pytest.fixture
def ask(ask_in_turn: Callable[..., list[dict[str, Any]]]) -> Callable[..., dict[str, Any]]:
    """One module asked."""
    return lambda module, **options: ask_in_turn((module, options))[0]


@pytest.fixture
def launched(ask: Callable[..., dict[str, Any]]) -> Iterator[Callable[..., dict[str, Any]]]:
    """The job begun, whatever was there before; it is stopped and forgotten afterwards."""

    def launch(**changes: Any) -> dict[str, Any]:
        answer = ask("training_job", **{**JOB, "restart": True, **changes})
        assert answer.get("state") == "running", answer
        return answer

    yield launch
    assert ask("training_job", state="absent")["state"] == "absent"
    shell(NODE, f"rm -rf {STATE} {LOGS} /var/log/gaudi3_scale/earlier/{NAME}")
