# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Locks of package managers, held by real processes: who it is, how long it is waited, what is said."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.distribution import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.lock_holder import (
    APT_LISTS,
    DNF_LOCKS,
    DPKG_LOCKS,
    holder,
    locks_of,
    require_free,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.package_system import Package

# As dpkg and apt lock: by fcntl, for writing.
HOLD = (
    "import fcntl, sys\nfile = open(sys.argv[1], 'r+')\nfcntl.lockf(file, fcntl.LOCK_EX)\nprint(flush=True)\ninput()\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (*DPKG_LOCKS, *APT_LISTS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "proc").symlink_to("/proc")
    return tmp_path


@pytest.fixture
def held(root: Path) -> Iterator[subprocess.Popen[str]]:
    """dpkg's lock, held by another process until it is told to end."""
    command = [sys.executable, "-c", HOLD, str(root / DPKG_LOCKS[0])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_who_has_dpkgs_lock_is_told_by_program_and_process(root: Path, held: subprocess.Popen[str]) -> None:
    found = holder(locks_of("apt"), str(root))
    assert found is not None
    assert (found.pid, found.file) == (held.pid, str(root / DPKG_LOCKS[0]))
    assert found.program == Path(f"/proc/{held.pid}/comm").read_text().strip()
    assert str(found) == f"{found.program} (process {held.pid})"
    # Reading the lists needs another one.
    assert holder(APT_LISTS, str(root)) is None


def test_locks_that_nobody_has_and_files_that_are_not_there_hold_nobody_up(root: Path, tmp_path: Path) -> None:
    assert holder(locks_of("apt"), str(root)) is None
    assert holder(locks_of("dnf"), str(root)) is None
    require_free(locks_of("apt"), 300.0, str(tmp_path / "nothing"), pytest.fail)


def test_a_short_wait_then_a_sentence_with_the_holder(root: Path, held: subprocess.Popen[str]) -> None:
    slept: list[float] = []
    with pytest.raises(
        GaudiError, match=rf"is busy: \S+ \(process {held.pid}\) holds \S+lock-frontend; wait "
    ) as caught:
        require_free(locks_of("apt"), 300.0, str(root), slept.append)
    assert sum(slept) == 5.0
    assert caught.value.facts["lock_holder"]["pid"] == held.pid
    slept.clear()
    with pytest.raises(GaudiError, match="wait for it to finish, or raise lock_timeout"):
        require_free(locks_of("apt"), 0.0, str(root), slept.append)
    assert slept == []


def test_a_holder_that_ends_meanwhile_is_not_heard_of(root: Path, held: subprocess.Popen[str]) -> None:
    def end(_seconds: float) -> None:
        held.kill()
        held.wait()

    require_free(locks_of("apt"), 300.0, str(root), end)


@pytest.mark.parametrize(
    ("text", "pid"), [(f"{os.getpid()}\n", os.getpid()), ("999999999", None), ("", None), ("x", None), ("-1", None)]
)
def test_dnf_writes_its_process_down_and_passes_over_one_that_is_gone(root: Path, text: str, pid: int | None) -> None:
    for name in DNF_LOCKS:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / DNF_LOCKS[0]).write_text(text)
    found = holder(locks_of("dnf"), str(root))
    assert (found.pid if found else None) == pid


class System:
    """A package manager with nothing installed that nobody may ask to install."""

    name = "apt"

    def query(self, _names: object) -> dict[str, Package]:
        return {}

    def interrupted(self) -> bool:
        pytest.fail("touched")


def test_nothing_is_touched_while_another_one_is_at_work(root: Path, held: subprocess.Popen[str]) -> None:
    call = {"refresh": False, "starts": True, "lock_timeout": 0.0, "root": str(root)}
    assert converge(["lsof"], System(), check_mode=True, **call)["changed"]  # type: ignore[arg-type]
    with pytest.raises(GaudiError, match=rf"process {held.pid}"):
        converge(["lsof"], System(), check_mode=False, **call)  # type: ignore[arg-type]
