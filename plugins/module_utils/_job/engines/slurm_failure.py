# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Why Slurm ended a job, or which of its tasks ended first, from what srun and slurmstepd wrote into the job's output.

Their sentences are those of Slurm's own source (slurmd/slurmstepd/req.c, srun/libsrun); not recorded from a cluster.
"""

from __future__ import annotations

import contextlib
import datetime
import re
from dataclasses import replace
from typing import Optional

from ..agent_table import AgentEntry
from ..failure import RankFailure, rank_failure
from ..failure_kinds import LOST, MEMORY, PREEMPTED, TIME_LIMIT
from ..reported_failure import AGENT

_WHOLE = re.compile(
    r"^slurmstepd: error: \*\*\* (?:JOB|STEP) \S{1,60} ON (?P<node>\S{1,255}) CANCELLED AT (?P<at>\S{1,60}) "
    r"DUE TO (?P<why>TIME LIMIT|PREEMPTION|NODE FAILURE|(?:JOB )?REQUEUE)",
    re.MULTILINE,
)
# A job that was put into the queue again goes on in the same file: what was longer before its last line is of a run
# before this one.
_RECENT_S = 300.0
_NODE = re.compile(r"^srun: error: Node failure on (?P<node>\S{1,255})", re.MULTILINE)
_OOM = re.compile(r"^slurmstepd: error: Detected \d{1,9} oom_kill event", re.MULTILINE)
_TASK = re.compile(
    r"^srun: error: (?P<node>\S{1,255}): tasks? (?P<task>\d{1,9})\S{0,200}: "
    r"(?P<how>Exited with exit code|Killed|Segmentation fault|Aborted|Bus error|Out Of Memory)",
    re.MULTILINE,
)
_NUMBERS = {"Killed": 9, "Segmentation fault": 11, "Aborted": 6, "Bus error": 7, "Out Of Memory": 9}
_SAYS = {
    "TIME LIMIT": (TIME_LIMIT, "Slurm ended it at its time limit; give it more, or let it be requeued"),
    "PREEMPTION": (PREEMPTED, "Slurm gave its nodes to another job; it goes on from its checkpoint once it is started"),
    "NODE FAILURE": (LOST, "Slurm lost the node; launch it again to resume"),
}
_OF_MEMORY = "Slurm ended a process since the job has no memory left on the node; give it more, or take less"


def slurm_failure(output: str, time: float, path: str) -> Optional[RankFailure]:
    """What Slurm did to the whole job, or the first task that a signal ended; None where it says neither.

    A task of ours is a node's agent: which of its ranks it was, its own log says.
    """
    output = _of_last_run(output, time)
    whole, node = _WHOLE.search(output), _NODE.search(output)
    if node is not None:
        kind, message = _SAYS["NODE FAILURE"]
        return RankFailure(AGENT, AGENT, 0, time, "", message, (), path, node["node"], kind=kind)
    if whole is not None:
        kind, message = _SAYS[whole["why"]]
        return RankFailure(AGENT, AGENT, 0, time, "", message, (), path, whole["node"], kind=kind)
    task = _TASK.search(output)
    if _OOM.search(output) or (task is not None and task["how"] == "Out Of Memory"):
        host = task["node"] if task is not None else ""
        return RankFailure(AGENT, AGENT, -9, time, "", _OF_MEMORY, (), path, host, kind=MEMORY)
    if task is None or task["how"] not in _NUMBERS:
        # Its ranks say why it ended.
        return None
    entry = AgentEntry(AGENT, AGENT, -_NUMBERS[task["how"]], time, wrote_error=False)
    return replace(rank_failure(entry, None, "", path), host=task["node"])


def _of_last_run(output: str, written: float) -> str:
    """What was written since the job was last put into the queue again."""
    old = [
        said for said in _WHOLE.finditer(output) if "REQUEUE" in said["why"] or _age(said["at"], written) > _RECENT_S
    ]
    return output[old[-1].end() :] if old else output


def _age(at: str, written: float) -> float:
    """Seconds from that time of day to ``written``; 0 where it is none."""
    with contextlib.suppress(ValueError, OverflowError, OSError):
        return written - datetime.datetime.strptime(at, "%Y-%m-%dT%H:%M:%S").timestamp()
    return 0.0


def is_of_slurm(failure: RankFailure) -> bool:
    """Whether Slurm itself ended the ranks, whatever they said of it."""
    return failure.kind in (TIME_LIMIT, PREEMPTED, LOST)
