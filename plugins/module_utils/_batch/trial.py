# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One probe trial: a fresh process that runs a few training steps at one batch size and may die of it.

An allocation that fails can leave a Gaudi process unusable, since the bridge rethrows the error at a later call and
forgets the buffer (HabanaAI/gaudi-pytorch-bridge, hpu_lazy_tensors.cpp and device.cpp). So each size gets its own.
"""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Mapping, Sequence

from .._node.json_file import parse_json
from .search import CRASH, HANG, OK, OUT_OF_MEMORY, WORKLOAD_ERROR, Trial
from .trial_place import TrialPlace, read_left, trial_place
from .trial_processes import Ended, run_together, signal_name

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
# What of a trial's result goes into a Trial as it is, beside its lists and its message.
NUMBERS = (
    "peak_memory_bytes",
    "step_seconds",
    "resting_memory_bytes",
    "peak_spread_bytes",
    "limit_bytes",
    "used_by_others_bytes",
    "warm_up_seconds",
    "held_memory_bytes",
)
MESSAGE_LENGTH = 2000
# Beyond it there is no number of bytes; NaN is not below it either.
LARGEST = 1 << 63


@dataclass(frozen=True)
class Workload:
    """What a trial runs. ``function`` is ``module:function``.

    ``warm_up`` steps come before the ``steps`` that are timed; more follow where the peak is not quiet yet.
    ``memory_limit`` bytes stand for a card's memory where ``device`` is cpu; None: no limit. ``processes``: ranks, each
    with a card, or that limit, of its own.
    """

    function: str
    options: Mapping[str, object] = field(default_factory=dict)
    steps: int = 3
    device: str = "hpu"
    memory_limit: int | None = None
    processes: int = 1
    warm_up: int = 1


# Runs the requests of all ranks at once for at most so many seconds; says how each process ended.
Runner = Callable[[Sequence[Mapping[str, object]], float, TrialPlace], "list[Ended]"]


def request(workload: Workload, batch_size: int, result_path: str) -> dict[str, object]:
    """What the child reads from its argument (see ``gaudi3_scale.batch.trial``)."""
    return {
        "workload": workload.function,
        "options": dict(workload.options),
        "batch_size": batch_size,
        "steps": workload.steps,
        "warm_up": workload.warm_up,
        "device": workload.device,
        "memory_limit": workload.memory_limit,
        "result": result_path,
    }


def run_trial(
    workload: Workload,
    batch_size: int,
    *,
    python: str,
    timeout: float,
    environment: Mapping[str, str],
    user: str | None = None,
) -> Trial:
    """Run one trial with the interpreter ``python`` for at most ``timeout`` seconds; leaves no process behind.

    It runs as ``user``; None: as the caller.
    """

    def run(requests: Sequence[Mapping[str, object]], seconds: float, place: TrialPlace) -> list[Ended]:
        commands = [[python, "-m", "gaudi3_scale.batch.trial", json.dumps(one)] for one in requests]
        return run_together(commands, seconds, place, environment)

    return trial_by(run, workload, batch_size, timeout, user)


def trial_by(run: Runner, workload: Workload, batch_size: int, timeout: float, user: str | None = None) -> Trial:
    """One trial whose processes are started by ``run``, as the account that their place is for.

    Where a ``memory_limit`` stands for a card, whatever asks for memory beyond it fails, and not all of it says so: the
    interpreter may die of a signal, and oneDNN "could not create a primitive". What fails so, yet runs without the
    limit, has run out of memory.
    """
    trial = _run_once(run, workload, batch_size, timeout, user)
    if workload.memory_limit is None or trial.outcome not in (CRASH, WORKLOAD_ERROR):
        return trial
    unlimited = _run_once(run, replace(workload, memory_limit=None), batch_size, timeout, user)
    if unlimited.outcome != OK:
        return trial
    return replace(
        trial, outcome=OUT_OF_MEMORY, message=f"runs only without the memory limit; with it: {trial.message}"
    )


def _run_once(run: Runner, workload: Workload, batch_size: int, timeout: float, user: str | None) -> Trial:
    with trial_place("gaudi3-scale-trial-", user) as place:
        paths = [place.result(rank) for rank in range(workload.processes)]
        ended = run([request(workload, batch_size, path) for path in paths], timeout, place)
        return of_all_ranks(
            [
                (judge(batch_size, one.returncode, timeout, read_left(path), read_left(one.log) or ""), one)
                for path, one in zip(paths, ended)
            ]
        )


def of_all_ranks(ranks: Sequence[tuple[Trial, Ended]]) -> Trial:
    """The worst rank counts: the largest peak, the slowest step, the least memory.

    Of ranks that failed it is one that ran out of memory, else the first to end: the others fail for want of it.
    """
    if len(ranks) == 1:
        return ranks[0][0]
    failed = [(number, *rank) for number, rank in enumerate(ranks) if rank[0].outcome != OK]
    if failed:
        number, trial, _ended = min(failed, key=lambda one: (one[1].outcome != OUT_OF_MEMORY, one[2].order))
        return replace(trial, message=f"rank {number}: {trial.message}")
    trials = [trial for trial, _ended in ranks]
    slowest = max(trials, key=lambda trial: trial.step_seconds or 0.0)
    return replace(
        slowest,
        peak_memory_bytes=_extreme(max, [trial.peak_memory_bytes for trial in trials]),
        resting_memory_bytes=_extreme(min, [trial.resting_memory_bytes for trial in trials]),
        peak_spread_bytes=_extreme(max, [trial.peak_spread_bytes for trial in trials]),
        limit_bytes=_extreme(min, [trial.limit_bytes for trial in trials]),
        used_by_others_bytes=_extreme(max, [trial.used_by_others_bytes for trial in trials]),
        held_memory_bytes=_extreme(max, [trial.held_memory_bytes for trial in trials]),
    )


def _extreme(choose: Callable[[list[int]], int], values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return choose(known) if known else None


def judge(batch_size: int, returncode: int | None, timeout: float, result: str | None, log: str) -> Trial:
    """What a trial was, from its exit status (negative: signal, None: ran past its time), result file and output."""
    lines = [line for line in log.splitlines() if line.strip()][-STDERR_LINES:]
    if returncode is None:
        return Trial(batch_size, HANG, message=f"timed out after {timeout:g} s. Last output: {_joined(lines)}")
    reported = None if result is None else _reported(batch_size, result)
    if reported is not None:
        return reported
    text = log.lower()
    if any(sign in text for sign in OUT_OF_MEMORY_TEXTS):
        return Trial(batch_size, OUT_OF_MEMORY, message=_joined(lines))
    if "no module named" in text and "gaudi3_scale" in text:
        return Trial(batch_size, WORKLOAD_ERROR, message=f"the node library is not in this venv: {_joined(lines)}")
    ended = f"signal {signal_name(-returncode)}" if returncode < 0 else f"exit status {returncode}"
    if returncode == -signal.SIGKILL:
        ended += ", which the kernel sends when the node is out of memory (see dmesg)"
    return Trial(batch_size, CRASH, message=f"{ended}. Last output: {_joined(lines)}")


def _reported(batch_size: int, result: str) -> Trial | None:
    """The trial's own word, or None when it died while writing it, or wrote what is none."""
    try:
        data = parse_json(result, named=True)
        if data["outcome"] not in (OK, OUT_OF_MEMORY, WORKLOAD_ERROR):
            return None
        measured: dict[str, Any] = {name: _size(data[name]) for name in NUMBERS if data.get(name) is not None}
        measured["seconds_of_steps"] = tuple(map(_size, data.get("seconds_of_steps") or ()))
        # A loss may be any number, and none.
        measured["losses"] = tuple(map(float, data.get("losses") or ()))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return None
    return Trial(batch_size, data["outcome"], message=str(data.get("message") or "")[:MESSAGE_LENGTH], **measured)


def _size(value: Any) -> float:
    """A number of bytes or seconds; ValueError for what cannot be one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
        raise ValueError(f"{value!r} is not a size")
    return value


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) if lines else "none"
