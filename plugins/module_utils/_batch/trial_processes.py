# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The processes of one probe trial, one a rank: started together, watched together, and all ended."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Mapping, Sequence

from .._node.process_tree import forbid_new_privileges
from .trial_place import TrialPlace

ORPHAN_GRACE_S = 5
POLL_S = 0.01
# Once a rank has ended the others may wait for it for ever; so long they have to end, too.
RANKS_GRACE_S = 10


@dataclass(frozen=True)
class Ended:
    """``returncode`` is negative for a signal, None past the time; ``order`` counts the processes as they ended."""

    returncode: int | None
    order: int
    log: str


def run_together(
    commands: Sequence[Sequence[str]], timeout: float, place: TrialPlace, environment: Mapping[str, str]
) -> list[Ended]:
    """Run a command for each rank, in ``place``, with what torchrun tells the ranks; none outlives the call."""
    logs = [place.log(rank) for rank in range(len(commands))]
    reported = rank_variables(len(commands))
    children: list[subprocess.Popen[bytes]] = []
    try:
        for command, log, variables in zip(commands, logs, reported):
            with Path(log).open("wb") as output:
                # Not AnsibleModule.run_command, which runs one program and waits: these are ranks beside each other.
                child = subprocess.Popen(  # pylint: disable=ansible-bad-function
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd=place.work,
                    env={**environment, **variables},
                    start_new_session=True,
                    preexec_fn=lambda: _confine(place, timeout),
                    **place.as_account,
                )
            children.append(child)
        return wait_together([child.poll for child in children], timeout, logs)
    finally:
        for child in children:
            end_group(child.pid)
            child.wait()


def _confine(place: TrialPlace, timeout: float) -> None:
    end_without_owner(timeout)
    if place.account is not None:
        forbid_new_privileges()


def end_without_owner(timeout: float) -> None:
    """An alarm outlives an exec (execve(2)): a trial whose parent is killed does not hold the card for ever."""
    signal.alarm(math.ceil(timeout) + ORPHAN_GRACE_S)


def rank_variables(processes: int) -> list[dict[str, str]]:
    """What torchrun tells each of several ranks on one node; nothing where there is but one."""
    if processes == 1:
        return [{}]
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    count = str(processes)
    return [
        {
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": count,
            "LOCAL_WORLD_SIZE": count,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
        }
        for rank in range(processes)
    ]


def wait_together(polls: Sequence[Callable[[], int | None]], timeout: float, logs: Sequence[str]) -> list[Ended]:
    """Until all have ended, or the time is over; ``polls`` give an exit status, or None while a process runs."""
    deadline = time.monotonic() + timeout
    ended: dict[int, Ended] = {}
    while True:
        for number, poll in enumerate(polls):
            status = poll() if number not in ended else None
            if status is not None:
                if not ended:
                    deadline = min(deadline, time.monotonic() + RANKS_GRACE_S)
                ended[number] = Ended(status, len(ended), logs[number])
        if len(ended) == len(polls) or time.monotonic() > deadline:
            return [ended.get(number, Ended(None, len(polls), logs[number])) for number in range(len(polls))]
        time.sleep(POLL_S)


def end_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
