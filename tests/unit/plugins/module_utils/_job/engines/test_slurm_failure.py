# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.slurm_failure import is_of_slurm, slurm_failure

WRITTEN = 1_795_000_000.0


def at(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(WRITTEN + seconds))


def cancelled(why, seconds=-1, what="STEP 12.0"):
    return f"slurmstepd: error: *** {what} ON node1 CANCELLED AT {at(seconds)} DUE TO {why} ***\n"


@pytest.mark.parametrize(
    ("output", "kind", "host", "of_slurm"),
    [
        (cancelled("TIME LIMIT", what="JOB 12"), "limit", "node1", True),
        (cancelled("PREEMPTION"), "preempted", "node1", True),
        (cancelled("NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"), "node", "node1", True),
        ("srun: error: Node failure on node2\n", "node", "node2", True),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=12.0.\n", "memory", "", False),
        ("srun: error: node2: task 1: Out Of Memory\n", "memory", "node2", False),
        ("srun: error: node2: task 3: Killed\n", "signal", "node2", False),
        ("srun: error: node2: tasks 3-4: Segmentation fault (core dumped)\n", "signal", "node2", False),
    ],
)
def test_what_slurm_says(output, kind, host, of_slurm):
    found = slurm_failure(output, WRITTEN, "/log/slurm-12.log")
    assert (found.kind, found.host, found.rank, is_of_slurm(found)) == (kind, host, -1, of_slurm)
    assert found.message


@pytest.mark.parametrize(
    "output",
    [
        "",
        "srun: error: node2: task 1: Exited with exit code 1\nsrun: error: node1: task 0: Killed\n",
        "the loss: error: node2: task 1: Killed\n",
    ],
)
def test_what_says_nothing_of_the_cause(output):
    assert slurm_failure(output, WRITTEN, "/log") is None


@pytest.mark.parametrize("why", ["JOB REQUEUE", "PREEMPTION", "TIME LIMIT"])
def test_what_was_said_of_a_run_before_is_not_of_this_one(why):
    """A job that was put into the queue again goes on in the same file."""
    before = "srun: error: node2: task 1: Killed\n" + cancelled(why, -4000)
    assert slurm_failure(before, WRITTEN, "/log") is None
    assert slurm_failure(before + "srun: error: Node failure on node3\n", WRITTEN, "/log").host == "node3"


def test_a_time_that_is_none_is_of_this_run():
    assert slurm_failure(cancelled("TIME LIMIT").replace(at(-1), "soon"), WRITTEN, "/log").kind == "limit"
