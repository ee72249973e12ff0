# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Where each rank of this node is, in files, before ranks that hang are ended."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Mapping

from gaudi3_scale.core._node.commands import Run
from gaudi3_scale.core._node.process_tree import catches
from gaudi3_scale.core._node.regular_file import read_end

PY_SPY_S = 10.0
# faulthandler writes at once; a rank that is stopped in the kernel does not write at all.
WRITTEN_S = 2.0


def write_stacks(
    directory: str, ranks: Mapping[int, int], first_rank: int, stderr: Mapping[int, str], venv: str, run: Run
) -> None:
    """``directory``/rank-<R>.txt for each of ``ranks`` (process by local rank), all at the same time.

    From py-spy where the venv or the node has it and may look into the process; else from the rank itself, where it
    catches SIGUSR1 as faulthandler.register has it do, which writes to its standard error.
    """
    Path(directory).mkdir(parents=True, exist_ok=True)
    threads = []
    for local, pid in ranks.items():
        path = f"{directory}/rank-{first_rank + local}.txt"
        arguments = (path, pid, stderr.get(local, ""), venv, run)
        threads.append(threading.Thread(target=_write_one, args=arguments, daemon=True))
        threads[-1].start()
    for thread in threads:
        thread.join(PY_SPY_S + WRITTEN_S)


def _write_one(path: str, pid: int, stderr: str, venv: str, run: Run) -> None:
    text = _from_py_spy(pid, venv, run) or _from_rank(pid, stderr)
    with contextlib.suppress(OSError):
        Path(path).write_text(text, encoding="utf-8")


def _from_py_spy(pid: int, venv: str, run: Run) -> str:
    own = f"{venv}/bin/py-spy"
    program = own if os.access(own, os.X_OK) else shutil.which("py-spy")
    if program is None:
        return ""
    done = run([program, "dump", "--pid", str(pid)], timeout=PY_SPY_S)
    return done.stdout if done.rc == 0 else ""


def _from_rank(pid: int, stderr: str) -> str:
    if not catches(pid, signal.SIGUSR1):
        return (
            "No stack: py-spy is not there or may not look into the process, and the rank does not catch SIGUSR1. "
            "Install py-spy into the training venv, or call faulthandler.register(signal.SIGUSR1) in the program.\n"
        )
    with contextlib.suppress(OSError):
        before = Path(stderr).stat().st_size
        os.kill(pid, signal.SIGUSR1)
        end = time.monotonic() + WRITTEN_S
        while time.monotonic() < end:
            time.sleep(0.1)
            size = Path(stderr).stat().st_size
            if size > before:
                # The rest of a stack that is being written.
                time.sleep(0.2)
                return read_end(stderr, Path(stderr).stat().st_size - before) or ""
    return "No stack: the rank was sent SIGUSR1 and wrote nothing.\n"
