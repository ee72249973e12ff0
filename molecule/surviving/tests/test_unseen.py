# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A play that follows a job and meets nodes that do not answer, or stands still itself: the job never notices.

The nodes' sshd is stopped, as on a node whose data loader leaves it no processor: connections are made and hang.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sandbox_jobs import (
    HOSTS,
    NODES,
    kill,
    launching,
    play,
    screen,
    shell,
    signal_all,
    status,
    variables,
    wait_for,
    wait_for_members,
    wait_for_steps,
)

# Each builds on the one before.
pytestmark = pytest.mark.in_turn("unseen")

NAME = "monday"
SILENCE_S = 10
# The whole role with less patience than a site has, and the one task with as little.
ROLE = f"""
- hosts: gaudi
  become: true
  gather_facts: false
  any_errors_fatal: true
  module_defaults:
    gaudi3.scale.training_job_follow: {{answer_timeout: 3, unreachable_timeout: {SILENCE_S}}}
  roles: [gaudi3.scale.gaudi_training]
"""
TASK = f"""
- hosts: gaudi
  become: true
  gather_facts: false
  tasks:
    - gaudi3.scale.training_job_follow:
        name: {NAME}
        hosts: {HOSTS}
        interval: 1
        answer_timeout: 3
        unreachable_timeout: 300
      run_once: true
"""
FOLLOWED = variables(NAME, gaudi_training_spares=[], gaudi_training_follow=True)


@contextmanager
def starved(*nodes: str) -> Iterator[None]:
    for node in nodes:
        shell(node, "pkill -STOP sshd")
    try:
        yield
    finally:
        for node in nodes:
            shell(node, "pkill -CONT sshd")


@pytest.fixture
def generation(tmp_path: Path) -> Iterator[int]:
    """The job's, which runs; afterwards it is the same one, and makes steps."""
    code, said = play(tmp_path / "launch", **{**FOLLOWED, "gaudi_training_follow": False})
    assert code == 0, said
    before = int(wait_for_members(HOSTS, NAME)["generation"])
    wait_for_steps("node1", NAME)
    yield before
    assert status("node1", NAME)["generation"] == before
    wait_for_steps("node1", NAME)


def following(directory: Path, text: str) -> subprocess.Popen[str]:
    directory.mkdir(exist_ok=True)
    (directory / "follow.yml").write_text(text, encoding="utf-8")
    return launching(directory, str(directory / "follow.yml"), **FOLLOWED)


@pytest.mark.usefixtures("generation")
def test_a_play_that_begins_while_no_node_answers_waits_and_follows(tmp_path: Path) -> None:
    with starved(*NODES):
        controller = following(tmp_path / "follow", TASK)
        for node in HOSTS:
            wait_for(f"{node} is missed", lambda node=node: f"{node} does not answer" in screen(tmp_path / "follow"))
        assert "Following job" not in screen(tmp_path / "follow")
    wait_for("the job is followed", lambda: f"Following job {NAME} on 3 node(s)" in screen(tmp_path / "follow"))
    wait_for("its steps are shown", lambda: "step " in screen(tmp_path / "follow").rpartition("Following job")[2])
    kill(controller)


@pytest.mark.usefixtures("generation")
def test_the_leader_may_be_silent_and_the_controller_stand_still_for_longer_than_the_patience(tmp_path: Path) -> None:
    controller = following(tmp_path / "follow", ROLE)
    wait_for("the job is followed", lambda: "Following job" in screen(tmp_path / "follow"))
    with starved("node1"):
        wait_for("node1 is missed", lambda: "node1 does not answer" in screen(tmp_path / "follow"))
        time.sleep(2 * SILENCE_S)
    signal_all(controller, signal.SIGSTOP)
    time.sleep(2 * SILENCE_S)
    signal_all(controller, signal.SIGCONT)
    shown = len(screen(tmp_path / "follow"))
    wait_for("it follows further", lambda: "step " in screen(tmp_path / "follow")[shown:])
    assert controller.poll() is None
    assert "Lost sight" not in screen(tmp_path / "follow")
    kill(controller)


@pytest.mark.usefixtures("generation")
def test_a_job_out_of_sight_is_no_failure_and_the_next_job_of_a_workflow_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSIBLE_SHOW_CUSTOM_STATS", "true")
    controller = following(tmp_path / "follow", ROLE)
    wait_for("the job is followed", lambda: "Following job" in screen(tmp_path / "follow"))
    with starved(*NODES):
        code = controller.wait(timeout=300)
    said = screen(tmp_path / "follow")
    assert code == 0, said
    assert f"Lost contact with job {NAME}: none of its nodes has responded for" in said
    assert f"Job {NAME}: unreachable" in said
    assert "verdict: unclear" in said


def test_the_job_is_stopped(tmp_path: Path) -> None:
    code, said = play(tmp_path, "stop_training", gaudi_training_name=NAME)
    assert code == 0, said
