# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Files that somebody else writes, as a job's account: only plain ones are opened."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO


def open_plain(path: str) -> BinaryIO:
    """To read bytes from. OSError where there is no file, and for a pipe, a device or a directory in its place: opening
    a pipe waits for ever, and a device may have no end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Not a plain file", path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
