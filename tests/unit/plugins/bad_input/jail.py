# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A process in which a module can do no harm: outside its place nothing can be written, started or reached.

Audit hooks are Python's own (PEP 578); what they refuse, the module meets as the system's own error.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import socket
import sys
from pathlib import Path
from typing import Any

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Event and how many of its first arguments are paths.
_CHANGES = {
    "os.mkdir": 1,
    "os.rename": 2,
    "os.remove": 1,
    "os.rmdir": 1,
    "os.chmod": 1,
    "os.chown": 1,
    "os.link": 2,
    "os.symlink": 2,
    "os.truncate": 1,
    "os.utime": 1,
}
_STARTS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system")
_REACHES = ("socket.connect", "socket.bind")
MEMORY = 3 << 30


class Jail:
    """``touched`` has every path that was to be changed, in or outside the place."""

    def __init__(self, place: str, trouble: str) -> None:
        self.place, self.trouble = os.path.realpath(place), trouble
        self.touched: list[str] = []

    def lock(self) -> None:
        """From here on this process is confined; there is no way back."""
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        if self.trouble == "full disk":
            # Each write fails in the kernel, as on a disk without room (there with ENOSPC, here with EFBIG).
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            self._opened(arguments[0], arguments[2])
        elif event in _CHANGES:
            # A name relative to a directory's descriptor is below one that was opened, and judged, before.
            for path in arguments[: _CHANGES[event]]:
                self._changed(path)
        elif event in _STARTS:
            self._started(arguments[0])
        elif event == "socket.getaddrinfo" or (event in _REACHES and arguments[0].family != socket.AF_UNIX):
            raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))

    def _opened(self, path: Any, flags: int) -> None:
        if isinstance(path, int) or path is None:
            return
        name = os.fsdecode(path)
        if Path(name).name == "unreadable":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        if flags & _WRITES and name != os.devnull:
            self._changed(path)

    def _changed(self, path: Any) -> None:
        if isinstance(path, int):
            return
        name = os.fsdecode(path)
        target = os.path.realpath(name)
        self.touched.append(name)
        if self.trouble == "read-only" or not target.startswith(f"{self.place}/"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), name)

    def _started(self, program: Any) -> None:
        name = os.fsdecode(program) if program else ""
        found = name if "/" in name else f"{self.place}/bin/{name}"
        if not os.path.realpath(found).startswith(f"{self.place}/") or not Path(found).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
