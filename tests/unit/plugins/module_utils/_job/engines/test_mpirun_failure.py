# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Outputs of Open MPI 4.1.4 (Debian 12) with two daemons, each started as for a node of its own, and two ranks each.

Those of lost nodes are of three nodes (node3, node1, node2) with a rank each, of which node2 was stopped, or cut off.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group_failure import rank_failures
from ansible_collections.gaudi3.scale.plugins.module_utils._job.engines.mpirun_failure import mpirun_failure
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._job.reported_failure import failure_sentence

FIXTURES = Path(__file__).parents[4] / "fixtures/job_failure"
DESCRIPTION = {"processes_per_node": 2, "hosts": ["n1", "n2"]}


def reported(log):
    return mpirun_failure(log, "/log/agent.log", 7.0, DESCRIPTION)


def test_a_rank_that_raised():
    found = reported((FIXTURES / "mpirun_exit.log").read_text())
    assert (found.rank, found.local_rank, found.exit_code, found.time) == (3, 1, 1, 7.0)
    assert found.host == "n2"
    assert (found.exception, found.message, found.path) == ("ValueError", "loss is nan", "/log/agent.log")
    # Its own lines alone, without the tags.
    assert found.lines[0] == "Traceback (most recent call last):"
    assert found.lines[-1] == "ValueError: loss is nan"
    assert len(found.lines) == 4


def test_a_rank_that_was_killed():
    found = reported((FIXTURES / "mpirun_killed.log").read_text())
    assert (found.rank, found.local_rank, found.exit_code, found.message) == (2, 0, -9, "killed by SIGKILL")
    # The log is on the first host, the rank was on the second.
    assert found.host == "n2"
    assert failure_sentence("n1", found.as_dict()) == (
        "rank 2 on n2 failed first: killed by SIGKILL\nThe whole log is /log/agent.log on n1."
    )


@pytest.mark.parametrize("name", ["mpirun_cut.log", "mpirun_stopped_node.log"])
def test_a_node_that_was_lost_is_named_and_not_who_lost_it(name):
    hosts = ["trainer3", "trainer1", "trainer2"]
    description = {"processes_per_node": 1, "hosts": hosts, "mpi": {"addresses": ["node3", "node1", "node2"]}}
    found = mpirun_failure((FIXTURES / name).read_text(), "/log/agent.log", 7.0, description)
    assert (found.rank, found.host, found.echo) == (-1, "trainer2", 0)
    assert failure_sentence("trainer3", found.as_dict()).startswith(
        "the agent on trainer2 failed first: the node, or its network, went down while the job ran"
    )
    # Without addresses mpirun was given the names.
    assert reported((FIXTURES / name).read_text()).host == "node2"


@pytest.mark.parametrize(
    ("name", "rank", "host", "code", "message"),
    [
        ("mpirun5_exit.log", 2, "n2", 1, "the text of shard 7 is empty"),
        ("mpirun5_killed.log", 1, "n1", -9, "killed by SIGKILL"),
    ],
)
def test_the_words_of_open_mpi_5(name, rank, host, code, message):
    """Recorded from 5.0.11 on three nodes with a rank each."""
    description = {"processes_per_node": 1, "hosts": ["n3", "n1", "n2"]}
    found = mpirun_failure((FIXTURES / name).read_text(), "/log/agent.log", 7.0, description)
    assert (found.rank, found.host, found.exit_code, found.message) == (rank, host, code, message)


def test_an_mpirun_that_tells_of_no_rank():
    assert reported("There are not enough slots available in the system to satisfy the 16\nslots\n") is None
    assert reported("") is None


def test_the_log_of_a_job_tells_its_failed_rank(tmp_path):
    paths = JobPaths("demo", str(tmp_path / "state"), str(tmp_path / "log"))
    assert rank_failures(paths) == []
    Path(paths.control).mkdir(parents=True)
    Path(paths.agent_logs).mkdir(parents=True)
    Path(paths.description).write_text(json.dumps(DESCRIPTION))
    Path(paths.agent_log).write_text((FIXTURES / "mpirun_exit.log").read_text())
    (found,) = rank_failures(paths)
    assert (found.rank, found.message, found.path) == (3, "loss is nan", paths.agent_log)
