# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How much processor time and memory processes use, from their control group or from /proc."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable

# Version 2 of control groups, then version 1 (cgroups(7)), each with the seconds of a unit.
TIME_FILES = (
    ("/sys/fs/cgroup{}/cpu.stat", "usage_usec", 1e-6),
    ("/sys/fs/cgroup/cpu,cpuacct{}/cpuacct.usage", "", 1e-9),
    ("/sys/fs/cgroup/cpuacct{}/cpuacct.usage", "", 1e-9),
)
# Not memory.current: the kernel's copies of files that ranks have read and written are in it, and go when they have to.
MEMORY_FILES = (
    ("/sys/fs/cgroup{}/memory.stat", ("anon", "shmem")),
    ("/sys/fs/cgroup/memory{}/memory.stat", ("total_rss", "total_shmem")),
)


@dataclass(frozen=True)
class ProcessUsage:
    """``processor``: seconds of one core since the beginning; ``memory``: bytes that are in use. None: not known."""

    processor: float | None
    memory: int | None


def group_usage(control_group: str, root: str = "") -> ProcessUsage:
    """Of all processes of a control group, those that have ended included."""
    return ProcessUsage(_group_time(control_group, root), _group_memory(control_group, root))


def _group_time(control_group: str, root: str) -> float | None:
    for place, key, unit in TIME_FILES:
        with contextlib.suppress(OSError, ValueError, KeyError):
            text = Path(root + place.format(control_group)).read_text(encoding="ascii")
            return unit * int(_fields(text)[key] if key else text)
    return None


def _group_memory(control_group: str, root: str) -> int | None:
    for place, keys in MEMORY_FILES:
        with contextlib.suppress(OSError, ValueError):
            fields = _fields(Path(root + place.format(control_group)).read_text(encoding="ascii"))
            # Older kernels have no field for shared memory.
            if keys[0] in fields:
                return sum(int(fields.get(key, "0")) for key in keys)
    return None


def _fields(text: str) -> dict[str, str]:
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def tree_usage(processes: Iterable[int], root: str = "") -> ProcessUsage:
    """Of these processes, and the time of those that they have waited for. Pages that several share count for each."""
    ticks, pages, found = 0, 0, False
    for pid in processes:
        with contextlib.suppress(OSError, ValueError, IndexError):
            # proc(5): after the command's name come state, parent, …, utime, stime, cutime, cstime, …, rss.
            fields = Path(f"{root}/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            times, resident = sum(map(int, fields[11:15])), int(fields[21])
            ticks, pages, found = ticks + times, pages + resident, True
    if not found:
        return ProcessUsage(None, None)
    return ProcessUsage(ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE"))
