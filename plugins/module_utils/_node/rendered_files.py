# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Files as values: what is wanted, what differs, the diff to show, and the write.

Every state module of the collection has one shape: ``wanted = plan(options)``, ``changes = pending(wanted)``,
``differences(changes)`` for ``--diff``, and ``write`` for each change outside check mode.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .._errors import GaudiError
from .regular_file import read_bounded
from .secret_texts import masked_texts

# More than any file that is edited here, a log of a firmware tool or a file of the kernel has.
LARGEST = 1 << 26
# In the first lines of every text that the collection writes into a file with remarks.
HEADING = "# Written by gaudi3.scale"


@dataclass(frozen=True)
class WantedFile:
    """A file as it should be. ``content`` None means: must not exist. ``backup`` keeps what a person wrote before.

    ``only_ours``: a file that must not exist stays where its text has no ``HEADING``, since somebody else wrote it.
    """

    path: str
    content: str | None
    mode: int = 0o644
    backup: bool = False
    only_ours: bool = False


@dataclass(frozen=True)
class FileChange:
    """The step from what is there (``before``; None: nothing) to what is wanted."""

    wanted: WantedFile
    before: str | None
    before_mode: int | None


def read_text(path: str) -> str | None:
    """The file's text with the line ends that it has, or None where there is no such file.

    Bytes that are no UTF-8 stay what they are when the text is written again. Raises GaudiError for what is no file.
    Links are followed but those of another account: that would have us print, as a difference, what it may not read.
    """
    try:
        found = Path(path).lstat()
        if stat.S_ISLNK(found.st_mode) and found.st_uid not in (0, os.geteuid()):
            raise GaudiError(f"{path} is a link of another account ({found.st_uid}); remove it.", file=path)
        return read_bounded(os.path.realpath(path), LARGEST).decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        sentence = f"{path} cannot be read: {error.strerror}; check its type and permissions."
        raise GaudiError(sentence, file=path) from error


def pending(wanted: Iterable[WantedFile]) -> list[FileChange]:
    """The files that are not as wanted, in the order given."""
    return [change for change in map(_compare, wanted) if change is not None]


def _compare(wanted: WantedFile) -> FileChange | None:
    before = read_text(wanted.path)
    if before is None:
        return None if wanted.content is None else FileChange(wanted, None, None)
    if wanted.content is None and wanted.only_ours and not is_ours(before):
        return None
    mode = _mode(Path(wanted.path))
    if before == wanted.content and mode == wanted.mode:
        return None
    return FileChange(wanted, before, mode)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def is_ours(text: str) -> bool:
    """Whether the collection wrote this text; a script has a line before the heading."""
    return any(line.startswith(HEADING) for line in text.splitlines()[:2])


def is_foreign(change: FileChange) -> bool:
    """Whether the change replaces a text of somebody else by one of ours."""
    before, after = change.before or "", change.wanted.content or ""
    return bool(before.strip()) and is_ours(after) and not is_ours(before)


def replaced(changes: Iterable[FileChange]) -> list[str]:
    """A sentence for each file of somebody else at a path of ours; :func:`write` keeps a copy of it."""
    return [
        f"{change.wanted.path} was not written by gaudi3.scale: it is replaced, and a copy of it is kept beside it as "
        f"{Path(change.wanted.path).name}.TIME.bak."
        for change in changes
        if is_foreign(change)
    ]


def differences(changes: Iterable[FileChange]) -> list[dict[str, str]]:
    """Ansible's ``diff`` for these changes: the text of each file before and after, without secrets."""
    return [_difference(change.wanted, change) for change in changes]


def _difference(wanted: WantedFile, change: FileChange) -> dict[str, str]:
    after_mode = None if wanted.content is None else wanted.mode
    before, after = masked_texts(change.before or "", wanted.content or "")
    return {
        "before_header": f"{wanted.path} ({_mode_note(change.before_mode)})",
        "after_header": f"{wanted.path} ({_mode_note(after_mode)})",
        "before": before,
        "after": after,
    }


def _mode_note(mode: int | None) -> str:
    return "absent" if mode is None else f"mode {mode:04o}"


def write(change: FileChange) -> str | None:
    """Bring one file to its wanted state, atomically; returns the backup's path where one was made."""
    wanted = change.wanted
    path = Path(wanted.path)
    is_kept = is_foreign(change) or (wanted.backup and change.before is not None)
    backup = _keep(path) if is_kept else None
    if wanted.content is None:
        path.unlink()
    else:
        _replace(path, wanted.content, wanted.mode)
    return backup


def _keep(path: Path) -> str:
    """Copy ``path`` beside itself under the time of day, with its mode; never over an older backup."""
    copy = next(name for name in _backup_names(path) if not name.exists())
    _replace(copy, read_text(str(path)) or "", _mode(path))
    return str(copy)


def _backup_names(path: Path) -> Iterator[Path]:
    stamp = time.strftime("%Y%m%dT%H%M%S")
    yield path.with_name(f"{path.name}.{stamp}.bak")
    for number in range(1, 1000):
        yield path.with_name(f"{path.name}.{stamp}.{number}.bak")


def _replace(path: Path, content: str, mode: int) -> None:
    try:
        _put(path.resolve(), content, mode)  # a rename over a link would turn the user's link into a file
    except OSError as error:
        # A full disk is met while writing, where the system names no file.
        raise OSError(error.errno, error.strerror, str(path)) from error


def _put(path: Path, content: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # A rename is atomic only inside one directory; a reader sees the old file or the new one, never half of it.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content.encode("utf-8", "surrogateescape"))
            # The file itself: its name could be another one's where others may write the directory.
            os.fchmod(stream.fileno(), mode)
            if path.exists():
                owner = path.stat()
                os.fchown(stream.fileno(), owner.st_uid, owner.st_gid)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink()
        raise
