# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The disk cache of compiled recipes: ``<root>/<release>/<flag set>[/<job>]``, on a local disk, bounded and kept clean.

The bridge bounds each directory by itself (third field of PT_HPU_RECIPE_CACHE_CONFIG); what it does not know of are the
directories of other jobs, other flags and releases that are gone.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from .._errors import GaudiError
from .catalog.values import WrongValueError
from .catalog.values import recipe_cache as read_recipe_cache

RECIPE_CACHE = "PT_HPU_RECIPE_CACHE_CONFIG"
MB = 1 << 20
_RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+-[0-9]+")
# The documentation asks for a local disk: names of remote and shared file systems as /proc/mounts has them.
_REMOTE = re.compile(
    r"nfs[0-9]*|cifs|smb[0-9]*|smbfs|ceph|lustre|gpfs|beegfs|glusterfs|afs|9p|panfs|wekafs|"
    r"fuse\.(sshfs|glusterfs|ceph(-fuse)?|s3fs|juicefs|gcsfuse|mount-s3)"
)


class Used(NamedTuple):
    """A directory with recipes: ``size`` in bytes of its own files, ``last_used`` the newest of them (Unix time)."""

    path: str
    size: int
    last_used: float


def of_job(text: str, job: str) -> str:
    """The value of PT_HPU_RECIPE_CACHE_CONFIG for one job: the node's, with a directory of the job's name below it.

    A text that names no directory, or that the bridge would refuse, is left as it is.
    """
    try:
        directory = read_recipe_cache(text).directory
    except WrongValueError:
        return text
    return f"{directory.rstrip('/')}/{job}{text[len(directory) :]}" if directory else text


def gone(entries: Iterable[str], release: str) -> list[str]:
    """Of the names below the root those that are releases, but not this one (``1.24.1-482``)."""
    return sorted(entry for entry in entries if _RELEASE.fullmatch(entry) and entry != release)


def above_limit(used: Sequence[Used], limit: int) -> list[str]:
    """Which directories to empty, the longest unused first, until all others fit in ``limit`` bytes (0: no limit)."""
    left = sum(one.size for one in used)
    found = []
    for one in sorted(used, key=lambda one: (one.last_used, one.path)):
        if not limit or left <= limit:
            break
        if one.size:
            found.append(one.path)
            left -= one.size
    return found


def file_system(mounts: str, path: str) -> tuple[str, str]:
    """Mount point and type of what ``path`` lies on, by the text of /proc/mounts; empty where nothing fits."""
    best = ("", "")
    for fields in (line.split() for line in mounts.splitlines()):
        if len(fields) < 3:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[1])
        below = path == point or path.startswith(f"{point.rstrip('/')}/")
        # Of two mounts at one place the later hides the earlier.
        if below and len(point) >= len(best[0]):
            best = (point, fields[2])
    return best


def is_remote(kind: str) -> bool:
    """Whether a file system of this type is not a local disk."""
    return _REMOTE.fullmatch(kind) is not None


def look(root: str, release: str) -> tuple[list[str], list[Used]]:
    """The directories of other releases below ``root``, and what this release's directories hold.

    Links are not followed. Raises :class:`GaudiError` where the cache cannot be read.
    """
    try:
        entries = [entry.name for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)]
        return [f"{root}/{name}" for name in gone(entries, release)], _used(f"{root}/{release}")
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except OSError as error:
        raise GaudiError(f"recipe_cache {root} cannot be read: {error.strerror}; check its permissions.") from error


def in_use(proc: str = "/proc") -> list[str]:
    """The directories that running processes were told to keep recipes in: a job may outlive a change of release."""
    key = f"{RECIPE_CACHE}=".encode()
    found: set[str] = set()
    for environ in Path(proc).glob("[0-9]*/environ"):
        # A process may end meanwhile.
        with contextlib.suppress(OSError):
            entries = environ.read_bytes().split(b"\0")
            found.update(entry[len(key) :].decode(errors="replace") for entry in entries if entry.startswith(key))
    directories = [text.partition(",")[0].rstrip("/") for text in found]
    return sorted(directory for directory in directories if directory)


def overlaps(path: str, directories: Iterable[str]) -> bool:
    """Whether one of the directories is ``path``, lies below it, or above it."""
    return any(f"{path}/".startswith(f"{one}/") or f"{one}/".startswith(f"{path}/") for one in directories)


def _used(top: str) -> list[Used]:
    found = []
    for directory, _directories, files in os.walk(top):
        # A job that runs may remove a file meanwhile.
        states = [os.lstat(f"{directory}/{name}") for name in files if os.path.lexists(f"{directory}/{name}")]
        if states:
            newest = max(max(state.st_mtime, state.st_atime) for state in states)
            found.append(Used(directory, sum(state.st_size for state in states), newest))
    return found


def remove(directory: str) -> None:
    """Take the directory of a release away, with all in it."""
    try:
        shutil.rmtree(directory)
    except OSError as error:
        raise GaudiError(f"{directory} cannot be removed: {error.strerror}; remove it by hand.") from error


def empty(root: str, directory: str) -> None:
    """Take the recipes of one directory below ``root`` away, not those below it.

    The jobs' account may put a link in any directory's place, so each is opened in the one above it.
    """
    try:
        place = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for name in Path(directory).relative_to(root).parts:
                below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
                os.close(place)
                place = below
            with os.scandir(place) as entries:
                recipes = [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
            for name in recipes:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=place)
        finally:
            os.close(place)
    except OSError as error:
        raise GaudiError(f"{directory} cannot be emptied: {error.strerror}; remove it by hand.") from error
