# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Processes that belong to a process, from /proc and from its control group."""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path

CGROUP_MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd")
# prctl(2)
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38


def keep_descendants() -> None:
    """From now on, a descendant whose parent ends becomes a child of this process instead of one of init's."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def forbid_new_privileges() -> None:
    """From now on, no program that this process or a descendant starts has more rights than it, sudo included."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def parents() -> dict[int, int]:
    """Parent by process, of all processes that have not ended."""
    return {pid: parent for pid, (parent, ended) in _processes().items() if not ended}


def ended_children(pid: int) -> set[int]:
    """The children of ``pid`` that have ended and that nobody has waited for."""
    return {child for child, (parent, ended) in _processes().items() if ended and parent == pid}


def _processes() -> dict[int, tuple[int, bool]]:
    """Of each process its parent, and whether it has ended."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # The command's name is in brackets and may have some itself.
            fields = (place / "stat").read_bytes().rpartition(b")")[2].split()
            found[int(place.name)] = int(fields[1]), fields[0] in (b"Z", b"X")
    return found


def descendants(pid: int) -> dict[int, int]:
    """Parent by process, of all that descend from ``pid``."""
    known = parents()
    children: dict[int, list[int]] = {}
    for child, parent in known.items():
        children.setdefault(parent, []).append(child)
    found: dict[int, int] = {}
    open_ends = [pid]
    while open_ends:
        parent = open_ends.pop()
        for child in children.get(parent, ()):
            found[child] = parent
            open_ends.append(child)
    return found


def environment_of(pid: int) -> dict[str, str]:
    """What a process was started with; empty where that cannot be read."""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
        return dict(word.split("=", 1) for word in words if "=" in word)
    return {}


def started_with(variable: str, value: str) -> set[int]:
    """The processes that have this in their environment, as far as this account may look; not this process itself."""
    return {pid for pid in parents() if pid != os.getpid() and environment_of(pid).get(variable) == value}


def processes_in(control_group: str) -> list[int]:
    """The processes of a control group and of those below it, whichever layout of cgroups the node has."""
    found: set[int] = set()
    for mount in CGROUP_MOUNTS if control_group else ():
        for directory, _directories, files in os.walk(mount + control_group):
            if "cgroup.procs" in files:
                with contextlib.suppress(OSError):
                    found.update(map(int, Path(directory, "cgroup.procs").read_text(encoding="ascii").split()))
    return sorted(found)


def oom_kills(control_group: str) -> int:
    """How many processes of this group the kernel has ended for want of memory, by its own count."""
    places = ("/sys/fs/cgroup{}/memory.events", "/sys/fs/cgroup/memory{}/memory.oom_control")
    for place in places if control_group else ():
        with contextlib.suppress(OSError, ValueError):
            for line in Path(place.format(control_group)).read_text(encoding="ascii").splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    return 0


def oom_kills_of_node() -> int:
    """How many processes the kernel has ended for want of memory since the node was booted (since Linux 4.13).

    With version 1 of control groups a unit may have none for its memory, and so no count of its own.
    """
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def own_control_group(unit: str) -> str:
    """The control group of this process, where it is that of ``unit``; else empty: others may be in it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _number, controllers, path = line.split(":", 2)
            if controllers in ("", "name=systemd") and path.rpartition("/")[2] == unit:
                return path
    return ""


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for this signal; without one most signals would end it."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False
