# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is said of ends that no rank can put into words: one that leaves the others, and a full disk for its logs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox_jobs import launching, play, podman, processes, screen, shell, status, variables, wait_for
from tests.sandbox_nodes import SANDBOX

pytestmark = pytest.mark.long

NODES = ["node1", "node2"]
SCRIPT = "/var/tmp/leaves.py"
# Its second rank ends well after so many steps (of a tenth of a second), and the first one loses it.
LEAVES = """
import os, sys, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
print(f"rank {dist.get_rank()} begins", flush=True)
for step in range(int(sys.argv[1])):
    if dist.get_rank() == 1 and step == int(sys.argv[2]):
        print("no batch left", flush=True)
        os._exit(0)
    dist.all_reduce(torch.ones(1))
    time.sleep(0.1)
"""
LOGS = "/var/log/gaudi3_scale/jobs"


def job(name: str, steps: int, leaves_at: int, restarts: int) -> dict[str, object]:
    return variables(
        name,
        gaudi_training_hosts=NODES,
        gaudi_training_spares=[],
        gaudi_training_command=[SCRIPT, str(steps), str(leaves_at)],
        gaudi_training_max_restarts=restarts,
        gaudi_training_follow=True,
    )


@pytest.fixture(scope="module", autouse=True)
def script() -> None:
    for node in NODES:
        shell(node, f"cat > {SCRIPT} <<'end'\n{LEAVES}\nend")


@pytest.fixture
def small_disk() -> Iterator[str]:
    """A file system of its own for the logs of node2's jobs."""
    shell("node2", f"install -d -m 0755 {LOGS}")
    # The nodes themselves may not mount anything.
    words = ["mount", "-t", "tmpfs", "-o", "size=16m,mode=0755", "tmpfs", LOGS]
    podman("exec", "--privileged", f"{SANDBOX}-node2", *words)
    yield LOGS
    podman("exec", "--privileged", f"{SANDBOX}-node2", "umount", "--lazy", LOGS)


def test_a_rank_that_leaves_the_others_is_named_before_the_one_that_lost_it(tmp_path: Path) -> None:
    code, said = play(tmp_path, **job("leaving", 10000, 100, 0))
    assert code != 0
    left = r"rank 1 on node2 ended with exit status 0 at \d\d:\d\d:\d\d while other ranks ran"
    assert re.search(f"Job leaving failed: {left}", said), said
    assert "no batch left" in said
    assert "rank 0 on node1 failed first" not in said


def test_a_disk_that_is_full_at_a_restart_is_named(tmp_path: Path, small_disk: str) -> None:
    following = launching(tmp_path, **job("filled", 10000, 10001, 1))
    begins = f"grep -l begins {LOGS}/filled/ranks/*/attempt_0/0/stdout.log 2>/dev/null || true"
    wait_for("the ranks", lambda: all(shell(node, begins).strip() for node in NODES))
    shell("node2", f"dd if=/dev/zero bs=4k of={small_disk}/filler 2>/dev/null || true")
    (rank,) = [number for number, command in processes("node2", "filled").items() if f" -u {SCRIPT}" in command]
    shell("node2", f"kill -KILL {rank}")
    assert following.wait(timeout=600) != 0
    said = screen(tmp_path)
    assert "killed by SIGKILL" in said
    assert re.search(rf"rank 1 on node2 failed first: .*no space left on {LOGS}/filled", said), said
    assert "no space left on" in status("node1", "filled")["reason"]
