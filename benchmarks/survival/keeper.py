# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A small stand-in for the systemd of a node: ``keeper.py WATCHDOG_SECONDS PID_FILE PROGRAM [ARGUMENT ...]``.

It does what a supervisor's unit asks of systemd, no more: when the main process ends, all that it started is killed
(KillMode=mixed); one that was ended by a signal is started again after 0.1 s (Restart=on-abnormal), but not more than
five times in ten seconds; one that does not say WATCHDOG=1 for WATCHDOG_SECONDS is killed with all it started
(WatchdogSec, WatchdogSignal=SIGKILL). Unlike systemd it watches only from the first such word on, so that a program
that never says it can be run. Real units are tried in molecule/surviving.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from plugins.module_utils._node.process_tree import descendants, ended_children, keep_descendants

RESTART_S = 0.1
STARTS, STARTS_S = 5, 10.0
LOOK_S = 0.02
COLLECT_S = 1.0
# Ends by these are no failure to systemd (systemd.service(5), Restart=).
CLEAN_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)


def main(words: Sequence[str]) -> int:
    """Until the main process ends by itself. Returns its exit status."""
    watchdog, pid_file, argv = float(words[0]), Path(words[1]), words[2:]
    keep_descendants()
    starts: list[float] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notices:
        # An abstract name is the network namespace's, hence this node's alone.
        notices.bind("\0survival-notify")
        while True:
            starts = [*starts, time.monotonic()][-STARTS:]
            status = run_once(argv, watchdog, pid_file, notices)
            if status >= 0 or -status in CLEAN_SIGNALS:
                return status
            if len(starts) == STARTS and time.monotonic() - starts[0] < STARTS_S:
                sys.stderr.write("keeper: started too often\n")
                return 1
            time.sleep(RESTART_S)


def run_once(argv: Sequence[str], watchdog: float, pid_file: Path, notices: socket.socket) -> int:
    """Run the program until it ends or says nothing for too long. Returns its status, as Popen has it."""
    reported = {"NOTIFY_SOCKET": "@survival-notify", "WATCHDOG_USEC": str(round(watchdog * 1e6))}
    process = subprocess.Popen(argv, env={**os.environ, **reported})
    pid_file.write_text(f"{process.pid}\n")
    heard: float | None = None
    looked = collected = time.monotonic()
    while process.poll() is None:
        if select.select([notices], [], [], LOOK_S)[0] and b"WATCHDOG=1" in notices.recv(4096).split(b"\n"):
            heard = time.monotonic()
        now = time.monotonic()
        # A machine that stood still did so as a whole, its clock too.
        heard = None if heard is None else heard + max(0.0, now - looked - 1.0)
        looked = now
        if heard is not None and now - heard > watchdog:
            sys.stderr.write(f"keeper: nothing was said for {watchdog:g} s\n")
            process.kill()
            heard = None
        if now - collected > COLLECT_S:
            collected = now
            collect(process.pid)
    kill_all()
    return process.returncode


def kill_all() -> None:
    """Until nothing that was started here is left."""
    while left := descendants(os.getpid()):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        collect(None)
        time.sleep(LOOK_S)
    collect(None)


def collect(main_process: int | None) -> None:
    """What ended after its parent did is our child; the main process is collected by its Popen."""
    for pid in ended_children(os.getpid()) - {main_process}:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
