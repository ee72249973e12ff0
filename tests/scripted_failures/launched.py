# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ends that the launcher tells of: mpirun, Slurm, and an agent that never had ranks."""

from __future__ import annotations

import time
from dataclasses import replace

from tests.scripted_failures.model import MPIRUN, TORCHRUN, Case, Death, Expected
from tests.scripted_failures.raised import BEGUN, EMPTY, STEP
from tests.scripted_failures.words import killed, raised

RULE = "-" * 74
EXITED = (
    "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
    "the job to be terminated. The first process to do so was:\n\n"
    f"  Process name: [[26295,1],3]\n  Exit code:    1\n{RULE}\n"
)
NOTICED = f"mpirun noticed that process rank 1 with PID 6872 on node node1 exited on signal 9 (Killed).\n{RULE}\n"
LOST = (
    "ORTE has lost communication with a remote daemon.\n\n  HNP daemon   : [[1,0],0] on node node1\n"
    f"  Remote daemon: [[1,0],1] on node node2\n\nThis is usually due to either a failure of the TCP network\n{RULE}\n"
)
# slurmd's and srun's own sentences (src/slurmd/slurmstepd/req.c, src/srun/libsrun/step_ctx.c).
AT = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(BEGUN))
CANCELLED = "slurmstepd: error: *** STEP 12.0 ON node1 CANCELLED AT {at} DUE TO {why} ***\n"
TASKS = "srun: error: node1: task 0: Terminated\nsrun: error: node2: task 1: Terminated\n"
TOLD = replace(killed(15), told=True)
BOTH = ("node1", "node2")


def _slurm(
    name: str,
    launcher: str,
    kind: str,
    says: str,
    rank: int = -1,
    node: str = "",
    silent: tuple[str, ...] = (),
    **deaths: Death,
) -> Case:
    ended = {int(key.removeprefix("rank")): death for key, death in deaths.items()} or {0: TOLD}
    expected = Expected(rank, kind, says, STEP if kind == "exception" else "", node=node)
    return Case(name, ended, expected, engine=TORCHRUN, follow="told", launcher=launcher, silent=silent)


CASES = [
    Case("mpirun_exit", {3: raised(EMPTY)}, Expected(3, "exception", EMPTY, STEP), engine=MPIRUN, launcher=EXITED),
    Case("mpirun_killed", {1: killed(9)}, Expected(1, "signal", "killed by SIGKILL"), engine=MPIRUN, launcher=NOTICED),
    Case(
        "mpirun_loses_a_node",
        {2: Death(0)},
        Expected(-1, "node", "the node, or its network, went down", node="node2"),
        engine=MPIRUN,
        launcher=LOST,
    ),
    _slurm(
        "slurm_time_limit",
        CANCELLED.format(at=AT, why="TIME LIMIT") + TASKS,
        "limit",
        "Slurm ended it at its time limit",
        silent=BOTH,
    ),
    _slurm(
        "slurm_preempts",
        CANCELLED.format(at=AT, why="PREEMPTION") + TASKS,
        "preempted",
        "Slurm gave its nodes to another job",
        silent=BOTH,
    ),
    _slurm(
        "slurm_loses_a_node",
        "srun: error: Node failure on node2\n" + TASKS,
        "node",
        "Slurm lost the node",
        node="node2",
    ),
    _slurm(
        "slurm_names_a_rank_that_raised",
        "srun: error: node2: task 1: Exited with exit code 1\nsrun: error: node1: task 0: Terminated\n",
        "exception",
        EMPTY,
        rank=3,
        rank3=raised(EMPTY, rank=3),
    ),
    _slurm(
        "slurm_names_a_killed_task",
        "srun: error: node2: task 1: Killed\n",
        "signal",
        "killed by SIGKILL",
        node="node2",
        silent=("node2",),
        rank2=replace(killed(9), told=True),
    ),
]
