# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What is left for the account of jobs: of the file system, and of its quota."""

from __future__ import annotations

import re

from .._node.commands import Run
from .mounts import LUSTRE, Mount
from .sizes import shown

# A server that is gone lets no program end that asks for it.
_TIMEOUT_S = 20


def left(mount: Mount, user: str, run: Run) -> int | None:
    """Bytes that ``user`` may still write; None where nobody answers."""
    done = run(["stat", "--file-system", "--format", "%a %S", mount.path], timeout=_TIMEOUT_S)
    found = re.fullmatch(r"([0-9]+) ([0-9]+)\s*", done.stdout)
    if done.rc != 0 or not found:
        return None
    return min(int(found[1]) * int(found[2]), *_quota(mount, user, run))


def shortage(mount: Mount, found: int | None, user: str) -> str:
    """A sentence where it is less than asked for; else empty."""
    if not mount.free or (found is not None and found >= mount.free):
        return ""
    if found is None:
        return f"{mount.path} does not report its free space; check whether its server responds."
    return (
        f"{mount.path} has {shown(found)} left for {user}, and {shown(mount.free)} are asked for; make room, raise the "
        "quota, or lower free."
    )


def _quota(mount: Mount, user: str, run: Run) -> list[int]:
    """``lfs quota -q``: path, KiB used, soft limit, hard limit (0: none); at least one number, an endless one."""
    endless = [1 << 62]
    if mount.type != LUSTRE:
        return endless
    done = run(["lfs", "quota", "-q", "-u", user, mount.path], timeout=_TIMEOUT_S)
    words = done.stdout.split()
    if done.rc != 0 or len(words) < 4:
        return endless
    used, limits = words[1].rstrip("*"), [word for word in words[2:4] if word.isdecimal() and int(word)]
    if not used.isdecimal() or not limits:
        return endless
    return [max(0, min(map(int, limits)) - int(used)) << 10]
