# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node whose own upgrade is at work: the run says who that is and waits, and touches nothing before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import ansible_runner
import pytest
from testinfra.host import Host

from tests.sandbox_nodes import hosts, run

# Each builds on the one before.
pytestmark = pytest.mark.in_turn("lock")

LOCK, MARK = "/var/lib/dpkg/lock-frontend", "/run/dpkg_is_held"
PACKAGE = "tree"
PURGE = f"apt-get -o DPkg::Lock::Timeout=60 purge -y -q {PACKAGE}"
# Under the name of the program that holds it on servers, for as long as the file is there.
HOLD = f"""
import fcntl, os, time
open('/proc/self/comm', 'w').write('unattended-upgr')
file = open('{LOCK}', 'r+')
fcntl.lockf(file, fcntl.LOCK_EX)
open('{MARK}', 'w').close()
while os.path.exists('{MARK}'): time.sleep(0.2)
"""


@pytest.fixture
def node() -> Iterator[Host]:
    found = hosts()["node1"]
    found.run(PURGE)
    found.check_output(
        f'python3 -c "{HOLD}" > /dev/null 2>&1 & '
        f"for _ in $(seq 600); do test -e {MARK} && exit 0; sleep 0.1; done; exit 1"
    )
    yield found
    found.run(f"rm -f {MARK}; {PURGE}")


def play(directory: Path, lock_timeout: int) -> tuple[ansible_runner.Runner, str]:
    task = {"gaudi3.scale.distribution_packages": {"names": [PACKAGE], "lock_timeout": lock_timeout}}
    done = run(directory, [{"hosts": "node1", "become": True, "gather_facts": False, "tasks": [task]}])
    return done, " ".join(done.stdout.read().split())


def test_who_holds_the_lock_shows_and_stands_in_the_last_message(node: Host, tmp_path: Path) -> None:
    done, said = play(tmp_path, 15)
    assert done.status == "failed"
    assert "node1: unattended-upgr (process " in said
    assert "is using the node's package manager; waiting, " in said
    assert f"holds {LOCK}; wait for it to finish, or raise lock_timeout. The run waited for this node " in said
    assert not node.package(PACKAGE).is_installed


def test_the_work_is_done_once_the_lock_is_free(node: Host, tmp_path: Path) -> None:
    node.check_output(f"(sleep 20; rm {MARK}) > /dev/null 2>&1 &")
    done, said = play(tmp_path, 300)
    assert done.status == "successful", said[-4000:]
    assert "node1: unattended-upgr (process " in said
    assert node.package(PACKAGE).is_installed
