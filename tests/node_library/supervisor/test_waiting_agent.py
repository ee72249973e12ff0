# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A process that waits with PyTorch loaded, and becomes the real torchrun."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from gaudi3_scale.supervisor.waiting_agent import WaitingAgent

TORCHRUN = str(Path(sys.executable).parent / "torchrun")

pytestmark = pytest.mark.skipif(not Path(TORCHRUN).exists(), reason="torch is not installed")


@pytest.fixture
def waiting():
    agent = WaitingAgent([TORCHRUN, "--nnodes", "@NNODES@"], os.environ)
    agent.prepare()
    yield agent
    agent.end()
    assert agent.processes == set()


def test_it_becomes_torchrun_with_the_words_and_the_environment_that_it_is_told(waiting):
    (pid,) = waiting.processes
    # Popen returns when the kernel has closed the old program's files, shortly before the new one's words are there.
    while not (words := Path(f"/proc/{pid}/cmdline").read_text()):
        time.sleep(0.01)
    assert f"{TORCHRUN} --nnodes" in words.replace("\0", " ")
    shell = ["--no-python", "/bin/sh", "-c", 'echo "$WORD of rank $RANK"; read line || echo nothing to read']
    process = waiting.take(
        [TORCHRUN, "--standalone", "--nproc-per-node", "1", *shell],
        {**os.environ, "WORD": "word", "OMP_NUM_THREADS": "1"},
    )
    assert (process.pid, waiting.processes) == (pid, set())
    said = process.stdout.read().decode()
    assert (process.wait(), said.splitlines()[-2:]) == (0, ["word of rank 0", "nothing to read"]), said
    # There is one at a time, and who took it begins without one.
    assert waiting.take([TORCHRUN], os.environ) is None


def test_one_that_has_ended_is_not_taken(waiting):
    (pid,) = waiting.processes
    os.kill(pid, 9)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert waiting.take([TORCHRUN], os.environ) is None


def test_without_its_supervisor_it_ends(waiting):
    process = waiting._process
    process.stdin.close()
    assert process.wait(60) == 0
    assert process.stdout.read() == b""


def test_it_is_no_other_pythons_torchrun_nor_a_container():
    for program in ("/opt/other/bin/torchrun", "podman", ""):
        agent = WaitingAgent([program], os.environ)
        agent.prepare()
        assert agent.processes == set()
        assert agent.take([program], os.environ) is None
