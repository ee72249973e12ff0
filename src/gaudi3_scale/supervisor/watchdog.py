# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Telling systemd that the supervisor gets on (sd_notify(3)).

When it is not told in time, it ends the unit with all ranks: nobody else would end those of a supervisor that was
stopped or hangs on a disk, and whose lease is over. The time is WatchdogSec at most; where the lease of ranks that run
ends before, systemd is told so (WATCHDOG_USEC, since systemd 233).
"""

from __future__ import annotations

import contextlib
import math
import socket
from typing import Mapping

SOCKET, INTERVAL = "NOTIFY_SOCKET", "WATCHDOG_USEC"
# Not for ranks: systemd would take their word for the supervisor's where the unit allows it.
OWN_VARIABLES = (SOCKET, INTERVAL, "WATCHDOG_PID")
SEVERAL = 8


class Watchdog:
    """Does nothing where systemd does not watch."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        path, microseconds = environment.get(SOCKET, ""), environment.get(INTERVAL, "")
        self._path = "\0" + path[1:] if path.startswith("@") else path
        self._longest = int(microseconds) / 1e6 if microseconds.isdecimal() else 0.0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) if path and self._longest else None
        self._due = self._end = 0.0

    def gets_on(self, now: float, gone_at: float = math.inf) -> None:
        """To be called at each look. ``gone_at``: when ranks are to be gone if it is not called again."""
        if self._socket is None:
            return
        end = min(now + self._longest, gone_at)
        # An end that has come nearer is told at once, one that continues with the time several times before it comes.
        if now < self._due and end >= self._end:
            return
        self._end, self._due = end, now + (end - now) / SEVERAL
        with contextlib.suppress(OSError):
            self._socket.sendto(f"WATCHDOG=1\nWATCHDOG_USEC={max(1, round((end - now) * 1e6))}".encode(), self._path)


def without_own(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that ranks are given."""
    return {name: value for name, value in environment.items() if name not in OWN_VARIABLES}
