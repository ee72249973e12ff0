# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Who holds a port of this node, by what the kernel shows (proc(5)): asked only once a port is not free."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Iterator

LISTENS = "0A"
UNIT_OF_JOB = ("gaudi3-scale-job-", ".service")


def holder_of(port: int, *, datagrams: bool = False, proc: str = "/proc") -> str:
    """``job llama (gaudi3-scale-job-llama.service)``, or ``python3 (process 41, web.service)``; "" where nobody is
    seen, as by one who may not look into others' processes, or where the holder is another container's.
    """
    inodes = {f"socket:[{inode}]" for inode in _inodes(port, datagrams, Path(proc))}
    return next((_named(process) for process in _processes(Path(proc)) if _has(process, inodes)), "") if inodes else ""


def _inodes(port: int, datagrams: bool, proc: Path) -> Iterator[str]:
    for table in ("udp", "udp6") if datagrams else ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (proc / "net" / table).read_text(encoding="ascii").splitlines()[1:]:
                words = line.split()
                is_meant = int(words[1].rpartition(":")[2], 16) == port
                if is_meant and (datagrams or words[3] == LISTENS):
                    yield words[9]


def _processes(proc: Path) -> list[Path]:
    return [entry for entry in proc.iterdir() if entry.name.isdecimal()]


def _has(process: Path, links: set[str]) -> bool:
    # It may have ended meanwhile, or be another account's.
    with contextlib.suppress(OSError):
        for one in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                if str(one.readlink()) in links:
                    return True
    return False


def _named(process: Path) -> str:
    unit = next(
        (part for part in reversed(_text(process / "cgroup").strip().split("/")) if part.endswith(".service")), ""
    )
    before, after = UNIT_OF_JOB
    if unit.startswith(before):
        return f"job {unit[len(before) : -len(after)]} ({unit})"
    name = _text(process / "comm").strip() or "a process"
    return f"{name} (process {process.name}{f', {unit}' if unit else ''})"


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""
