# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Two runs that want to change one node."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.lock import exclusive

FILE = "var/lib/gaudi3_scale/driver.lock"
# A process of its own that takes the lock, says so, and keeps it until it is killed.
HOLDER = """
import sys
from ansible_collections.gaudi3.scale.plugins.module_utils._node.lock import exclusive
with exclusive("driver", 5, sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def never(_seconds: float) -> None:
    pytest.fail("waited for a lock that nobody holds")


def hold_elsewhere(root: Path) -> subprocess.Popen[str]:
    """Another process with the lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_free_lock_is_taken_at_once_and_again_afterwards(tmp_path: Path) -> None:
    for _time in range(2):
        with exclusive("driver", 0, str(tmp_path), never):
            assert (tmp_path / FILE).exists()


def test_the_lock_is_free_after_a_failure_inside(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match="broken"), exclusive("driver", 0, str(tmp_path), never):
        raise GaudiError("broken")
    with exclusive("driver", 0, str(tmp_path), never):
        pass


def test_locks_of_other_names_are_no_obstacle(tmp_path: Path) -> None:
    with exclusive("driver", 0, str(tmp_path), never), exclusive("firmware", 0, str(tmp_path), never):
        pass


def test_the_second_gives_up_with_one_sentence_after_its_time(tmp_path: Path) -> None:
    second = exclusive("driver", 1, str(tmp_path), lambda _seconds: time.sleep(0.1))
    with exclusive("driver", 0, str(tmp_path)), pytest.raises(GaudiError) as caught, second:
        pytest.fail("two at a time")
    file = tmp_path / FILE
    assert str(caught.value) == (
        f"Another run changes the driver of this node since more than 1 s ({file} is locked); "
        "wait for it to finish, or raise lock_timeout."
    )


def test_the_second_waits_and_goes_on_when_the_first_has_ended(tmp_path: Path) -> None:
    first = exclusive("driver", 0, str(tmp_path))
    first.__enter__()
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            first.__exit__(None, None, None)

    with exclusive("driver", 60, str(tmp_path), sleep):
        assert len(waited) == 3
    assert all(0 < seconds <= 5 for seconds in waited)


@pytest.mark.parametrize("end", ["terminate", "kill"])
def test_a_process_that_dies_leaves_no_lock_behind(tmp_path: Path, end: str) -> None:
    holder = hold_elsewhere(tmp_path)
    try:
        with pytest.raises(GaudiError, match="is locked"), exclusive("driver", 0, str(tmp_path), never):
            pytest.fail("two at a time")
    finally:
        getattr(holder, end)()
        holder.communicate(timeout=60)
    with exclusive("driver", 0, str(tmp_path), never):
        pass


def test_a_program_that_is_started_inside_does_not_keep_the_lock(tmp_path: Path) -> None:
    """A build that outlives a killed run is no run; dkms and apt have locks of their own."""
    with exclusive("driver", 0, str(tmp_path)):
        child: Any = subprocess.Popen(["sleep", "60"])
    try:
        with exclusive("driver", 0, str(tmp_path), never):
            pass
    finally:
        child.kill()
        child.wait()


def test_a_lock_is_its_owners_alone(tmp_path: Path) -> None:
    """Whoever may open a file may hold its lock."""
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).touch(0o644)
    with exclusive("driver", 0, str(tmp_path), never):
        assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
