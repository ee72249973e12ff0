# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Files that an account other than the reader's may write: it could put anything in their place."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import BinaryIO


def open_regular(path: str) -> BinaryIO:
    """A regular file to read bytes from; OSError where there is none, or a link, a pipe or a device."""
    # Without waiting: a pipe that nobody writes to would hold its reader for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Not a regular file", path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_end(path: str, most: int) -> str | None:
    """The last ``most`` bytes of a regular file as text; None where there is none, or a link, a pipe or a device."""
    with contextlib.suppress(OSError, ValueError), open_regular(path) as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - most))
        return stream.read(most).decode(errors="replace")
    return None
