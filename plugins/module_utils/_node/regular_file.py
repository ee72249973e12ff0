# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Files that an account other than the reader's may write: it could put anything in their place."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
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
            raise OSError(errno.EINVAL, "it is no regular file", path)
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
