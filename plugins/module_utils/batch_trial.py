# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One probe trial: a fresh process that runs a few training steps at one batch size and may die of it.

An allocation that fails can leave a Gaudi process unusable, since the bridge rethrows the error at a later call and
forgets the buffer (HabanaAI/gaudi-pytorch-bridge, hpu_lazy_tensors.cpp and device.cpp). So each size gets its own.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Mapping

from .batch_search import CRASH, HANG, OK, OUT_OF_MEMORY, WORKLOAD_ERROR, Trial

# The first two are Gaudi's: tensors, and the workspace of a graph (bridge 1.19, device_memory.cpp and synapse helpers).
# The rest are what allocators say when a process may not have more memory.
OUT_OF_MEMORY_TEXTS = (
    "pt_devmem allocation failed",
    "workspace allocation of size",
    "out of memory",
    "can't allocate memory",
    "cannot allocate memory",
    "std::bad_alloc",
    "memoryerror",
)
STDERR_LINES = 15
ORPHAN_GRACE_S = 5


@dataclass(frozen=True)
class Workload:
    """What a trial runs. ``function`` is ``module:function``.

    ``memory_limit`` bytes stand for a card's memory where ``device`` is cpu; None: no limit.
    """

    function: str
    options: Mapping[str, object] = field(default_factory=dict)
    steps: int = 3
    device: str = "hpu"
    memory_limit: int | None = None


def request(workload: Workload, batch_size: int, result_path: str) -> dict[str, object]:
    """What the child reads from its argument (see ``gaudi3_scale.trial``)."""
    return {
        "workload": workload.function,
        "options": dict(workload.options),
        "batch_size": batch_size,
        "steps": workload.steps,
        "device": workload.device,
        "memory_limit": workload.memory_limit,
        "result": result_path,
    }


def run_trial(
    workload: Workload, batch_size: int, *, python: str, timeout: float, environment: Mapping[str, str]
) -> Trial:
    """Run one trial with the interpreter ``python`` for at most ``timeout`` seconds; leaves no process behind.

    Where a ``memory_limit`` stands for a card, whatever asks for memory beyond it fails, and not all of it says so: the
    interpreter may die of a signal, and oneDNN "could not create a primitive". What fails so, yet runs without the
    limit, has run out of memory.
    """
    trial = _run_once(workload, batch_size, python, timeout, environment)
    if workload.memory_limit is None or trial.outcome not in (CRASH, WORKLOAD_ERROR):
        return trial
    unlimited = _run_once(replace(workload, memory_limit=None), batch_size, python, timeout, environment)
    if unlimited.outcome != OK:
        return trial
    return replace(
        trial, outcome=OUT_OF_MEMORY, message=f"runs only without the memory limit; with it: {trial.message}"
    )


def _run_once(
    workload: Workload, batch_size: int, python: str, timeout: float, environment: Mapping[str, str]
) -> Trial:
    with tempfile.TemporaryDirectory(prefix="gaudi3-scale-trial-") as directory:
        result_path, log_path = f"{directory}/result.json", f"{directory}/log"
        argv = [python, "-m", "gaudi3_scale.trial", json.dumps(request(workload, batch_size, result_path))]
        with Path(log_path).open("wb") as log:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=directory,
                env=dict(environment),
                start_new_session=True,
                # An alarm outlives an exec (execve(2)): a trial whose parent is killed does not hold the card for ever.
                preexec_fn=lambda: signal.alarm(math.ceil(timeout) + ORPHAN_GRACE_S),
            )
        returncode = _wait(child, timeout)
        return judge(batch_size, returncode, timeout, _read(result_path), _read(log_path) or "")


def _wait(child: subprocess.Popen[bytes], timeout: float) -> int | None:
    """The exit status, or None past the time. Either way the whole process group is ended."""
    try:
        return child.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def judge(batch_size: int, returncode: int | None, timeout: float, result: str | None, log: str) -> Trial:
    """What a trial was, from its exit status (negative: signal, None: ran past its time), result file and output."""
    lines = [line for line in log.splitlines() if line.strip()][-STDERR_LINES:]
    if returncode is None:
        return Trial(batch_size, HANG, message=f"no end after {timeout:g} s. Last output: {_joined(lines)}")
    reported = None if result is None else _reported(batch_size, result)
    if reported is not None:
        return reported
    text = log.lower()
    if any(sign in text for sign in OUT_OF_MEMORY_TEXTS):
        return Trial(batch_size, OUT_OF_MEMORY, message=_joined(lines))
    if "no module named" in text and "gaudi3_scale" in text:
        return Trial(batch_size, WORKLOAD_ERROR, message=f"the node library is not in this venv: {_joined(lines)}")
    ended = f"signal {_signal_name(-returncode)}" if returncode < 0 else f"exit status {returncode}"
    if returncode == -signal.SIGKILL:
        ended += ", which the kernel sends when the node itself has no memory left (see dmesg)"
    return Trial(batch_size, CRASH, message=f"{ended}. Last output: {_joined(lines)}")


def _reported(batch_size: int, result: str) -> Trial | None:
    """The trial's own word, or None when it died while writing it."""
    try:
        data = json.loads(result)
    except ValueError:
        return None
    if not isinstance(data, dict) or data.get("outcome") not in (OK, OUT_OF_MEMORY, WORKLOAD_ERROR):
        return None
    return Trial(
        batch_size,
        data["outcome"],
        peak_memory_bytes=data.get("peak_memory_bytes"),
        step_seconds=data.get("step_seconds"),
        message=data.get("message") or "",
        resting_memory_bytes=data.get("resting_memory_bytes"),
        peak_spread_bytes=data.get("peak_spread_bytes"),
        limit_bytes=data.get("limit_bytes"),
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) if lines else "none"


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
