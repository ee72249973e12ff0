# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the kernel wrote as it ended a process for want of memory: which one, and what held the memory then.

The sentences are those of mm/oom_kill.c since Linux 4.19, as /dev/kmsg has them. Not every node lets an account read
that (kernel.dmesg_restrict): then nothing is known but that it happened.
"""

from __future__ import annotations

import contextlib
import os
import re
import time

from .._node.quantities import short_bytes

_KILLED = re.compile(
    r"(?P<group>Memory cgroup out|Out) of memory: Killed process (?P<pid>\d{1,9}) \((?P<name>[^)\n]{1,64})\) "
    r".{0,200}?anon-rss:(?P<anon>\d{1,15})kB"
)
# [  4711]   998  4711 60000000 26214400    300000        0             0 python
_TASK = re.compile(
    r"\[ *(?P<pid>\d{1,9})\] +\d{1,10} +\d{1,9} +\d{1,15} +(?P<pages>\d{1,15})"
    r"(?: +-?\d{1,15}){3,6} (?P<name>\S.{0,63})$",
    re.MULTILINE,
)
_MEMORY_DUMP = "Tasks state (memory values in pages):"
PAGE = os.sysconf("SC_PAGE_SIZE")
RECENT_S = 60.0
MOST_RECORDS, RECORD_BYTES = 100_000, 8192


def what_took_the_memory(log: str) -> str:
    """Of the last process that the kernel ended so: what it was, and who held most; "" where the log has none."""
    found = list(_KILLED.finditer(log))
    if not found:
        return ""
    killed = found[-1]
    begin = log.rfind(_MEMORY_DUMP, 0, killed.start())
    tasks = _TASK.finditer(log, begin, killed.start()) if begin >= 0 else iter(())
    most = max(tasks, key=lambda task: int(task["pages"]), default=None)
    ended = f"{killed['name']} (process {killed['pid']}) had {short_bytes(int(killed['anon']) * 1024)}"
    if killed["group"] != "Out":
        return f"{ended}, and the limit of its unit or job was reached"
    if most is None or most["pid"] == killed["pid"]:
        return ended
    return f"{ended}, and {most['name']} (process {most['pid']}) had {short_bytes(int(most['pages']) * PAGE)}"


def kernel_log(path: str = "/dev/kmsg") -> str:
    """The kernel's records of the last minute; "" where they may not be read."""
    oldest = (time.clock_gettime(time.CLOCK_MONOTONIC) - RECENT_S) * 1e6
    lines = []
    with contextlib.suppress(OSError):
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            for _record in range(MOST_RECORDS):
                record = _next(opened)
                if record is None:
                    break
                # 6,1234,98765432,-;text: priority, number, microseconds, flags.
                head, _semicolon, text = record.partition(";")
                fields = head.split(",")
                if len(fields) > 2 and fields[2].isdecimal() and int(fields[2]) >= oldest:
                    lines.append(text.partition("\n")[0])
        finally:
            os.close(opened)
    return "\n".join(lines)


def _next(opened: int) -> str | None:
    """The next record; "" for one that was overwritten meanwhile, None where there is none."""
    try:
        return os.read(opened, RECORD_BYTES).decode(errors="replace") or None
    except BrokenPipeError:
        return ""
    except OSError:
        return None
