# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Who has the package manager's locks: asked before work begins, since a module that waits can say nothing.

A module that finds them held ends in a moment, with who it is; the controller's half says so and runs it again.
"""

from __future__ import annotations

import fcntl
import os
import struct
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from .._errors import GaudiError
from .._node.os_release import APT
from .._node.regular_file import open_regular

# What a transaction needs, and what reading the lists needs.
DPKG_LOCKS = ("var/lib/dpkg/lock-frontend", "var/lib/dpkg/lock", "var/cache/apt/archives/lock")
APT_LISTS = ("var/lib/apt/lists/lock",)
DNF_LISTS = ("var/cache/dnf/metadata_lock.pid",)
DNF_LOCKS = ("var/lib/dnf/rpmdb_lock.pid", *DNF_LISTS, "var/cache/dnf/download_lock.pid")
# Most holders are gone by then, and nobody has to hear of them.
PATIENCE_S, _POLL_S = 5.0, 0.5
# fcntl(2): type, whence, start, length, process.
_FLOCK = "hhqqi4x"


@dataclass(frozen=True)
class Holder:
    """The process that has ``file``; 0 and no ``program`` where the kernel does not tell (another namespace)."""

    file: str
    pid: int
    program: str

    def __str__(self) -> str:
        return f"{self.program} (process {self.pid})" if self.program else f"process {self.pid or 'unknown'}"


def locks_of(manager: str) -> tuple[str, ...]:
    """The locks of a transaction with apt or dnf."""
    return DPKG_LOCKS if manager == APT else DNF_LOCKS


def holder(locks: Iterable[str], root: str = "/") -> Holder | None:
    """Who has the first of these locks that is held."""
    for name in locks:
        path = Path(root, name)
        pid = _named(path, root) if path.suffix == ".pid" else _locking(path)
        if pid is not None:
            return Holder(str(path), pid, _program(pid, root))
    return None


def _locking(path: Path) -> int | None:
    """Who would be waited for: dpkg and apt lock a file that is always there."""
    question = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        with open_regular(str(path)) as stream:
            answer = struct.unpack(_FLOCK, fcntl.fcntl(stream, fcntl.F_GETLK, question))
    except OSError:
        return None
    return None if answer[0] == fcntl.F_UNLCK else int(answer[4])


def _named(path: Path, root: str) -> int | None:
    """Who is written there: dnf makes the file and takes it away, and passes over one whose process is no more."""
    try:
        with open_regular(str(path)) as stream:
            pid = int(stream.read(32))
    except (OSError, ValueError):
        return None
    return pid if Path(root, "proc", str(pid)).is_dir() else None


def _program(pid: int, root: str) -> str:
    try:
        with open_regular(str(Path(root, "proc", str(pid), "comm"))) as stream:
            return stream.read(64).decode(errors="replace").strip()
    except OSError:
        return ""


def require_free(
    locks: Iterable[str], lock_timeout: float, root: str = "/", sleep: Callable[[float], None] = time.sleep
) -> None:
    """Have nobody hold these locks; raises GaudiError with ``lock_holder`` where they are held for long."""
    wanted, waited = tuple(locks), 0.0
    found = holder(wanted, root)
    while found and waited < min(PATIENCE_S, lock_timeout):
        sleep(_POLL_S)
        waited += _POLL_S
        found = holder(wanted, root)
    if found:
        raise GaudiError(
            f"The package manager of this node is busy: {found} holds {found.file}; wait for it to finish, or raise "
            "lock_timeout.",
            lock_holder={"program": found.program, "pid": found.pid, "file": found.file},
        )
