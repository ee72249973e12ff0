# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Files that an account other than the reader's may write: it could put anything in their place."""

from __future__ import annotations

import contextlib
import os
import stat


def read_end(path: str, most: int) -> str | None:
    """The last ``most`` bytes of a regular file as text; None where there is none, or a link, a pipe or a device."""
    # Without waiting: a pipe that nobody writes to would hold its reader for ever.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.suppress(OSError, ValueError):
        descriptor = os.open(path, flags)
        with os.fdopen(descriptor, "rb") as stream:
            found = os.fstat(descriptor)
            if stat.S_ISREG(found.st_mode):
                stream.seek(max(0, found.st_size - most))
                return stream.read(most).decode(errors="replace")
    return None
