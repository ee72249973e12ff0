# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Files as values: what is wanted, what differs, the diff to show, and the write.

Every state module of the collection has one shape: ``wanted = plan(options)``, ``changes = pending(wanted)``,
``differences(changes)`` for ``--diff``, and ``write`` for each change outside check mode.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from dataclasses import dataclass
from typing import Iterable

from .errors import GaudiError


@dataclass(frozen=True)
class WantedFile:
    """A file as it should be. ``content`` None means: must not exist. ``backup`` keeps what a person wrote before."""

    path: str
    content: str | None
    mode: int = 0o644
    backup: bool = False


@dataclass(frozen=True)
class FileChange:
    """The step from what is there (``before``; None: nothing) to what is wanted."""

    wanted: WantedFile
    before: str | None
    before_mode: int | None


def read_text(path: str) -> str | None:
    """The file's text, or None where there is no such file."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise GaudiError(f"{path} cannot be read: {error.strerror}; check its type and permissions.", path=path) from error


def pending(wanted: Iterable[WantedFile]) -> list[FileChange]:
    """The files that are not as wanted, in the order given."""
    return [change for change in map(_compare, wanted) if change is not None]


def _compare(wanted: WantedFile) -> FileChange | None:
    before = read_text(wanted.path)
    if before is None:
        return None if wanted.content is None else FileChange(wanted, None, None)
    mode = stat.S_IMODE(os.stat(wanted.path).st_mode)
    if before == wanted.content and mode == wanted.mode:
        return None
    return FileChange(wanted, before, mode)


def differences(changes: Iterable[FileChange]) -> list[dict[str, str]]:
    """Ansible's ``diff`` for these changes: the text of each file before and after."""
    return [
        {
            "before_header": f"{change.wanted.path}{_mode_note(change.before_mode)}",
            "after_header": f"{change.wanted.path}{_mode_note(None if change.wanted.content is None else change.wanted.mode)}",
            "before": change.before or "",
            "after": change.wanted.content or "",
        }
        for change in changes
    ]


def _mode_note(mode: int | None) -> str:
    return " (absent)" if mode is None else f" (mode {mode:04o})"


def write(change: FileChange) -> str | None:
    """Bring one file to its wanted state, atomically; returns the backup's path where one was made."""
    wanted = change.wanted
    backup = _keep(wanted.path) if wanted.backup and change.before is not None else None
    if wanted.content is None:
        os.unlink(wanted.path)
    else:
        _replace(wanted.path, wanted.content, wanted.mode)
    return backup


def _keep(path: str) -> str:
    """Copy ``path`` beside itself under the time of day, with its mode; never over an older backup."""
    text = read_text(path) or ""
    mode = stat.S_IMODE(os.stat(path).st_mode)
    stamp = time.strftime("%Y%m%dT%H%M%S")
    copy = next(name for name in _backup_names(path, stamp) if not os.path.exists(name))
    _replace(copy, text, mode)
    return copy


def _backup_names(path: str, stamp: str) -> Iterable[str]:
    yield f"{path}.{stamp}.bak"
    for number in range(1, 1000):
        yield f"{path}.{stamp}.{number}.bak"


def _replace(path: str, content: str, mode: int) -> None:
    # A rename over a link would turn the user's link into a file.
    path = os.path.realpath(path)
    directory = os.path.dirname(path) or "."
    os.makedirs(directory, exist_ok=True)
    # A rename is atomic only inside one directory; a reader sees the old file or the new one, never half of it.
    handle, temporary = tempfile.mkstemp(dir=directory, prefix=f".{os.path.basename(path)}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, mode)
        if os.path.lexists(path):
            owner = os.stat(path)
            os.chown(temporary, owner.st_uid, owner.st_gid)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
