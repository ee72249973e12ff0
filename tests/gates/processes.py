# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A gate's command as a process of its own, which ends with all that it started: at its limit, or when told to."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from plugins.module_utils._node.process_tree import descendants, started_with

# In the environment of all that a run of the gates starts: what leaves its parent is found by it.
MARK = "GAUDI3_SCALE_GATES"
LOOK_S = 0.2
# pytest says nothing more, but mmdebstrap and apt leave their directories in order.
GRACE_S = 10.0


@dataclass(frozen=True)
class Surroundings:
    """What the commands of one run have in common. ``stop``: end what runs, and start nothing more."""

    directory: Path
    environment: Mapping[str, str]
    stop: threading.Event


def run_command(command: Sequence[str], around: Surroundings, log: int, limit: float) -> str:
    """Why the command did not succeed, in words for its log; empty where it did. Output goes to the descriptor ``log``.

    ``limit`` is in seconds. A session of its own keeps the terminal's Ctrl-C from it: who runs the gates ends them.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=around.directory,
            env=around.environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    except OSError as error:
        return str(error)
    end = time.monotonic() + limit
    while process.poll() is None:
        if around.stop.is_set() or time.monotonic() > end:
            end_tree(process)
            return "Interrupted." if around.stop.is_set() else f"Stopped: not finished after {limit:.0f} s."
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_S)
    return "" if process.returncode == 0 else f"It ended with {process.returncode}."


def end_tree(process: subprocess.Popen[bytes]) -> None:
    """End a process and all below it, first asked and then made to.

    They are looked for once before: whose parent has ended is nobody's descendant any more.
    """
    tree = {process.pid, *descendants(process.pid)}
    for number in (signal.SIGTERM, signal.SIGKILL):
        _signal(tree, number)
        end = time.monotonic() + GRACE_S
        while time.monotonic() < end and (process.poll() is None or any(map(_lives, tree))):
            time.sleep(LOOK_S)


def end_marked(mark: str) -> None:
    """End whatever still runs of what was started with this mark."""
    _signal(started_with(MARK, mark), signal.SIGKILL)


def _signal(processes: Iterable[int], number: int) -> None:
    for pid in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False
