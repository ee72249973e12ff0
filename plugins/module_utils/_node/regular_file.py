# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Files that an account other than the reader's may write: it could put anything in their place."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from dataclasses import dataclass
from typing import BinaryIO

# The kernel's own files are read into a buffer of the size that was asked for, which it may refuse (ENOMEM).
_PIECE = 1 << 16


def open_regular(path: str, directory: int | None = None, *, follow: bool = False) -> BinaryIO:
    """A regular file to read bytes from; OSError where there is none, or a pipe or a device, or a link.

    ``follow`` takes a link for what it leads to. ``directory`` is the descriptor of the directory that a relative
    ``path`` is looked up in.
    """
    # Without waiting: a pipe that nobody writes to would hold its reader for ever.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags, dir_fd=directory)
    except ValueError as error:
        raise OSError(errno.EINVAL, f"no file can have this name: {error}", path) from None
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a regular file", path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bounded(path: str, most: int, directory: int | None = None, *, follow: bool = False) -> bytes:
    """All of a regular file; OSError as of :func:`open_regular`, and where it has more than ``most`` bytes.

    A file's size is not asked: those of /proc and /sys say 0 or 4096.
    """
    pieces: list[bytes] = []
    left = most + 1
    with open_regular(path, directory, follow=follow) as stream:
        while left and (piece := stream.read(min(left, _PIECE))):
            pieces.append(piece)
            left -= len(piece)
    if not left:
        raise OSError(errno.EFBIG, f"it has more than {most} bytes", path)
    return b"".join(pieces)


def read_end(path: str, most: int, directory: int | None = None) -> str | None:
    """The last ``most`` bytes of a regular file as text; None where there is none, or a link, a pipe or a device."""
    with contextlib.suppress(OSError), open_regular(path, directory) as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - most))
        return stream.read(most).decode(errors="replace")
    return None


@dataclass(frozen=True)
class Place:
    """How far somebody has read: which file that was, and the byte to go on from."""

    device: int
    inode: int
    offset: int


@dataclass(frozen=True)
class NewLines:
    """Whole lines, the ``place`` behind them, and whether they follow those of before or begin a file anew."""

    text: bytes
    place: Place
    goes_on: bool


def read_on(path: str, before: Place | None, most: int, first: int) -> NewLines:
    """The whole lines since ``before``, of more than ``most`` bytes the last; OSError as of :func:`open_regular`.

    Of another file than before, and of one that became shorter, those of its last ``first`` bytes. Where bytes are left
    out a line may have lost its beginning. What has no end yet comes with the call after it has one.
    """
    with open_regular(path) as stream:
        about = os.fstat(stream.fileno())
        offset = before.offset if before and (before.device, before.inode) == (about.st_dev, about.st_ino) else None
        goes_on = offset is not None and offset <= about.st_size
        largest = most if goes_on else first
        start = max(offset if offset is not None and goes_on else 0, about.st_size - largest)
        stream.seek(start)
        text = stream.read(largest)
    whole = text[: text.rfind(b"\n") + 1]
    return NewLines(whole, Place(about.st_dev, about.st_ino, start + len(whole)), goes_on)
