# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What one ``ansible-playbook`` costs its controller with all that it starts: seconds, processor seconds, memory."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processor_time import processor_seconds

# Between looks at memory: seconds, and what of a processor all looks take at most.
LEAST_PAUSE_S = 0.5
MOST_OF_A_PROCESSOR = 0.01


@dataclass(frozen=True)
class Cost:
    """``processor_s``: of the playbook, its forks, and the ssh processes that stay behind for the next task.
    ``memory_mib``: the most that all of them had at once, a page that several share counted once.
    """

    status: int
    wall_s: float
    processor_s: float
    memory_mib: float


def cost_of(command: Sequence[str], environment: Mapping[str, str], log: Path) -> Cost:
    """Run it in a session of its own, by which its processes are known."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as control, log.open("w") as screen:
        begun = time.monotonic()
        process = subprocess.Popen(
            command,
            env={**environment, "ANSIBLE_SSH_CONTROL_PATH_DIR": control},
            stdout=screen,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        peak = _Peak(process.pid, control)
        peak.start()
        _pid, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begun
        peak.stop()
        left = [pid for pid in _processes(process.pid, control) if pid != process.pid]
        processor = usage.ru_utime + usage.ru_stime + sum(map(_processor_seconds, left))
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
    return Cost(process.returncode, wall, processor, peak.mib)


class _Peak(threading.Thread):
    """Looks at the memory of a session's processes, twice a second where that is little.

    Of a thousand processes that would take a sixth of a processor, for which what is measured has to wait.
    """

    def __init__(self, session: int, control: str) -> None:
        super().__init__(daemon=True)
        self.mib = 0.0
        self._session, self._control = session, control
        self._ended = threading.Event()

    def run(self) -> None:
        pause = LEAST_PAUSE_S
        while not self._ended.wait(pause):
            begun = time.thread_time()
            self.mib = max(self.mib, sum(map(_mib, _processes(self._session, self._control))))
            pause = max(LEAST_PAUSE_S, (time.thread_time() - begun) / MOST_OF_A_PROCESSOR)

    def stop(self) -> None:
        self._ended.set()
        self.join()


def _processes(session: int, control: str) -> list[int]:
    """Those of the session, and ssh's masters, which leave it but name the place of their sockets."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            stat = (path / "stat").read_text().rpartition(")")[2].split()
            if int(stat[3]) == session or control in (path / "cmdline").read_text():
                found.append(int(path.name))
    return found


def _processor_seconds(pid: int) -> float:
    with suppress(OSError):
        return processor_seconds(pid)
    return 0.0


def _mib(pid: int) -> float:
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024
    return 0.0
