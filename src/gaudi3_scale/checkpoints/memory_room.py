# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A job's own directory in a file system that is host memory, and whether there is room in it. Standard library only.

The directory's name comes from a random identity that the job keeps beside its checkpoints: who starts another job in
the same place, or removed the checkpoints, never goes on from what is in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import stat
import time
from pathlib import Path

from gaudi3_scale.checkpoints.files import steps_in
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.quantities import short_bytes
from gaudi3_scale.core._node.regular_file import read_bounded
from gaudi3_scale.core._storage.units import below, mount_table

IDENTITY = "memory.id"
"""The file in a job's directory of checkpoints with the identity of what it has in memory."""
PREFIX = "gaudi3_scale-"
KINDS = ("tmpfs", "ramfs")
REMAINS_AFTER_S = 3600.0
PROC, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_IDENTITY = re.compile(r"[0-9a-f]{32}")
_LEFT = 10
"""A tenth of the memory, and of the file system, stays free: others use both."""
_MOST_BYTES = 1 << 22


def new_identity() -> str:
    return secrets.token_hex(16)


def identity_in(checkpoints: Path) -> str | None:
    """What the job keeps in its directory of checkpoints; None where it has none, or none that is one."""
    try:
        text = read_bounded(str(checkpoints / IDENTITY), 64).decode("ascii", "replace").strip()
    except OSError:
        return None
    return text if _IDENTITY.fullmatch(text) else None


def keep_identity(checkpoints: Path, identity: str) -> None:
    """Raises OSError where it cannot be written."""
    growing = checkpoints / f".{IDENTITY}.{secrets.token_hex(8)}"
    growing.write_text(f"{identity}\n", encoding="ascii")
    growing.replace(checkpoints / IDENTITY)


def directory_of(parent: Path, identity: str, checkpoints: Path) -> Path:
    """Nodes that one machine stands for have one each, as they have directories of checkpoints."""
    digest = hashlib.sha256(f"{identity}\n{checkpoints.resolve()}".encode()).hexdigest()
    return parent / f"{PREFIX}{digest[:32]}"


def make_own(directory: Path) -> None:
    """Make it, for this account alone. GaudiError where it is in no memory, or something else has its name."""
    kind = file_system_of(directory.parent)
    if kind not in KINDS:
        raise GaudiError(f"{directory.parent} is {kind or 'no file system that is known'}, and not in memory (tmpfs)")
    with contextlib.suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    require_own(directory)


def require_own(directory: Path) -> None:
    """OSError where it is gone, GaudiError where it is a link, or another account could have put something there."""
    about = directory.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o077:
        raise GaudiError(f"{directory} is not a directory of this account alone")


def file_system_of(path: Path) -> str:
    """Its type, as the kernel calls it; empty where that is not told."""
    found = below(str(path.resolve()), mount_table()) if path.exists() else None
    return found.type if found else ""


def held_in(directory: Path) -> int:
    """Bytes of the copies in it."""
    return sum(_size(folder) for folder in steps_in(directory).values())


def free_in(directory: Path) -> int:
    """Bytes that are free there; none where it is gone."""
    with contextlib.suppress(OSError):
        about = os.statvfs(directory)
        return about.f_bavail * about.f_frsize
    return 0


def shortage(directory: Path, copy: int, own: int, proc: Path = PROC, groups: Path = GROUPS) -> str:
    """Why copies of so many bytes have no room in ``directory``, in a clause, or nothing where they have.

    Two are there while the newer one is written. Of ``own``, what the ranks here write of one, they hold a third time
    to write from, and a fourth time while they write to a disk.
    """
    held, wanted = held_in(directory), f"two copies of {short_bytes(copy)}"
    if own != copy:
        written = f"{wanted}, and two of the {short_bytes(own)} of one that are written here,"
    else:
        written = f"four copies of {short_bytes(copy)}, two of them while they are written,"
    return _too_little_free(directory, max(0, 2 * copy - held), wanted) or _too_little_available(
        max(0, 2 * (copy + own) - held), written, proc, groups
    )


def no_room_for(size: int, directory: Path, proc: Path = PROC, groups: Path = GROUPS) -> str:
    """Why so many bytes have no room in ``directory``, in a clause, or nothing where they have."""
    wanted = f"{short_bytes(size)} of a copy"
    return _too_little_free(directory, size, wanted) or _too_little_available(size, wanted, proc, groups)


def _too_little_free(directory: Path, needed: int, wanted: str) -> str:
    free, about = free_in(directory), os.statvfs(directory)
    size = about.f_blocks * about.f_frsize
    if free - needed >= size // _LEFT:
        return ""
    return (
        f"{wanted} would leave less than a tenth of {directory.parent} free "
        f"({short_bytes(free)} of {short_bytes(size)} are)"
    )


def _too_little_available(needed: int, wanted: str, proc: Path, groups: Path) -> str:
    for whose, available, whole in _bounds(proc, groups):
        if available - needed < whole // _LEFT:
            return (
                f"{wanted} would leave less than a tenth of the memory of {whose} available "
                f"({short_bytes(available)} of {short_bytes(whole)} are)"
            )
    return ""


def remains_in(parent: Path, own: Path) -> dict[Path, int]:
    """Directories of other jobs of this account that nothing was written to for an hour, with their bytes."""
    found: dict[Path, int] = {}
    for path in sorted(parent.glob(f"{PREFIX}*")):
        with contextlib.suppress(OSError):
            about = path.lstat()
            is_ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()
            if path != own and is_ours and time.time() - about.st_mtime > REMAINS_AFTER_S:
                found[path] = held_in(path)
    return found


def remove_own(directory: Path) -> None:
    """Whatever is left of it; nothing where it is not this account's."""
    with contextlib.suppress(OSError, GaudiError):
        require_own(directory)
        shutil.rmtree(directory)


def _bounds(proc: Path, groups: Path) -> list[tuple[str, int, int]]:
    """Whose memory it is, how much of it is available and how much there is: the node's, and of each limited group."""
    meminfo = _numbers(read_bounded(str(proc / "meminfo"), _MOST_BYTES).decode("ascii", "replace").replace(":", " "))
    bounds = [("the node", meminfo["MemAvailable"] << 10, meminfo["MemTotal"] << 10)]
    lines = read_bounded(str(proc / "self" / "cgroup"), _MOST_BYTES).decode("utf-8", "replace").splitlines()
    path = next((line.removeprefix("0::/") for line in lines if line.startswith("0::/")), None)
    own = groups / path if path is not None else groups
    for group in (own, *own.parents):
        with contextlib.suppress(OSError, ValueError):
            # "max" is no limit, and no number.
            limit = int(_text(group / "memory.max"))
            # The kernel's copies of files go when they have to.
            cache = _numbers(_text(group / "memory.stat"))["inactive_file"]
            bounds.append((f"its control group {group}", limit - int(_text(group / "memory.current")) + cache, limit))
        if group == groups:
            break
    return bounds


def _text(path: Path) -> str:
    return read_bounded(str(path), _MOST_BYTES).decode("ascii", "replace").strip()


def _numbers(text: str) -> dict[str, int]:
    return {words[0]: int(words[1]) for words in map(str.split, text.splitlines()) if len(words) > 1}


def _size(folder: Path) -> int:
    with contextlib.suppress(OSError):
        return sum(path.stat().st_size for path in folder.iterdir())
    return 0
