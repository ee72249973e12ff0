# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One node's worker group of a job as a value, and what the records of its end mean."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from typing import Mapping

from .._job.description import Allotment
from .._job.paths import JobPaths

ABSENT = "absent"
RUNNING = "running"
SUCCEEDED = "succeeded"
FAILED = "failed"
STOPPED = "stopped"
# Of a job whose nodes have stopped answering: it may run or not.
OUT_OF_SIGHT = "out_of_sight"

# Of a process; an account may write more digits than Python reads.
_LONGEST_STATUS = 3


@dataclass(frozen=True)
class WorkerGroup:
    """``description`` None: no such job here. Times are Unix time; ``result`` is systemd's word for the end, or what
    Slurm calls the job's state.

    ``exit_code`` is torchrun's, negative for a signal; None where nothing was recorded. ``launch`` names the run that
    supervisors of several nodes make together, and ``library`` is the version of gaudi3_scale that this node's is of.
    ``nodes`` are those that Slurm has chosen, where it was to choose. ``binding`` has what each rank here was bound to
    when it was started, as plain values of ``binding.plan.RankBinding``. ``modules`` are the cards that its ranks here
    have, of the ``node_cards`` of this node, where that is known; ``allotted`` is what was chosen for its run.
    """

    state: str
    description: Mapping[str, object] | None = None
    started: float | None = None
    ended: float | None = None
    result: str | None = None
    exit_code: int | None = None
    launch: str = ""
    library: str = ""
    nodes: tuple[str, ...] = ()
    binding: tuple[Mapping[str, object], ...] = ()
    modules: tuple[int, ...] = ()
    node_cards: int = 0
    allotted: Allotment = field(default_factory=Allotment)


def stop_requested(paths: JobPaths) -> bool:
    """Whether the job was told to end: by the collection, or through its unit."""
    return any(map(os.path.lexists, (paths.stop_requested, paths.unit_stopped)))


def ended_state(ended: Mapping[str, object], stop_requested: bool) -> str:
    """What a unit's own record of its end means."""
    if ended.get("result") == "success" and ended.get("code") == "exited" and ended.get("status") == "0":
        return SUCCEEDED
    return STOPPED if stop_requested else FAILED


def exit_code_of(ended: Mapping[str, object]) -> int | None:
    """systemd tells a number for a process that exited, and the signal's name without SIG for one that was killed."""
    status = str(ended.get("status"))
    if status.isascii() and status.isdecimal() and len(status) <= _LONGEST_STATUS:
        return int(status)
    number = getattr(signal, f"SIG{status}", None)
    # SIG_DFL is 0, as if it had gone well.
    return -int(number) if isinstance(number, signal.Signals) else None


def time_of(data: Mapping[str, object] | None) -> float | None:
    value = None if data is None else data.get("time")
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
