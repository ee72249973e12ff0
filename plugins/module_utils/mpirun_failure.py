# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which rank failed first and why, from what Open MPI's mpirun left in the agent's log.

The sentences of 4.1 were recorded from 4.1.4; 5.0 says them of prterun, with another name of the process.
"""

from __future__ import annotations

import re
from typing import Mapping

from .job_failure import AgentEntry, RankFailure, rank_failure

EXITED = re.compile(r"first process to do so was:\s+Process name: \[\S*,(?P<rank>\d+)\]\s+Exit code: +(?P<code>\d+)")
KILLED = re.compile(
    r"^(?:mpirun|prterun) noticed that process rank (?P<rank>\d+) with PID \d+ on node \S+ "
    r"exited on signal (?P<number>\d+)",
    re.MULTILINE,
)


def mpirun_failure(log: str, path: str, time: float, description: Mapping[str, object]) -> RankFailure | None:
    """The rank that mpirun says was the first, with its last words; None where it says none."""
    exited, killed = EXITED.search(log), KILLED.search(log)
    found = exited or killed
    if found is None:
        return None
    rank = int(found["rank"])
    code = int(exited["code"]) if exited else -int(found["number"])
    processes = description.get("processes_per_node")
    local_rank = rank % processes if isinstance(processes, int) and processes else rank
    words = re.findall(rf"^\[1,{rank}\]<stderr>: ?(.*)$", log, re.MULTILINE)
    return rank_failure(AgentEntry(rank, local_rank, code, time, None), None, "\n".join(words), path)
