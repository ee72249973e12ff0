# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gaudi3_scale.supervisor.watchdog import Watchdog, without_own

LONGEST_US = 8_000_000


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.setblocking(False)
        yield listening


@pytest.fixture
def watchdog(systemd: socket.socket) -> Watchdog:
    return Watchdog({"NOTIFY_SOCKET": systemd.getsockname(), "WATCHDOG_USEC": str(LONGEST_US)})


def said(systemd: socket.socket) -> list[int]:
    """For how many microseconds systemd was told to wait, each time."""
    found = []
    while True:
        try:
            alive, _equals, wait = systemd.recv(64).decode().partition("\nWATCHDOG_USEC=")
        except BlockingIOError:
            return found
        assert alive == "WATCHDOG=1"
        found.append(int(wait))


def test_systemd_is_told_several_times_in_its_interval(systemd, watchdog):
    for turn in range(81):
        watchdog.gets_on(100 + turn / 10)
    assert said(systemd) == [LONGEST_US] * 9


def test_a_lease_that_ends_before_shortens_its_patience(systemd, watchdog):
    watchdog.gets_on(100.0, math.inf)
    watchdog.gets_on(100.1, 106.1)
    # As long as that is when it ends nothing has to be said before the next time.
    watchdog.gets_on(100.2, 106.1)
    watchdog.gets_on(102.1, 106.1)
    watchdog.gets_on(102.2, 103.2)
    assert said(systemd) == [LONGEST_US, 6_000_000, 4_000_000, 1_000_000]


def test_what_is_over_already_is_still_a_time(systemd, watchdog):
    """0 would take the watchdog away."""
    watchdog.gets_on(100.0, 99.0)
    assert said(systemd) == [1]


def test_nothing_is_told_where_nobody_watches(tmp_path):
    for environment in ({}, {"NOTIFY_SOCKET": str(tmp_path / "absent")}, {"WATCHDOG_USEC": "8000000"}):
        Watchdog(environment).gets_on(1.0)
    # Nobody listens there any more.
    Watchdog({"NOTIFY_SOCKET": str(tmp_path / "absent"), "WATCHDOG_USEC": "8000000"}).gets_on(1.0)


def test_ranks_do_not_get_the_supervisors_word_with_systemd():
    given = {"NOTIFY_SOCKET": "/n", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "2", "PATH": "/bin"}
    assert without_own(given) == {"PATH": "/bin"}
