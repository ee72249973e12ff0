# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.status import Status
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.watch import (
    host_of_node,
    job_state,
    verdict_sentence,
    witness_of,
    worker_group_words,
)


@pytest.mark.parametrize(
    ("worker_groups", "state"),
    [
        (["running", "running"], "running"),
        (["succeeded", "running"], "running"),
        (["succeeded", "succeeded"], "succeeded"),
        (["running", "failed"], "failed"),
        (["stopped", "failed"], "failed"),
        (["running", "absent"], "failed"),
        (["succeeded", "stopped"], "stopped"),
    ],
)
def test_the_state_of_a_job(worker_groups, state):
    assert job_state(dict(enumerate(worker_groups))) == state


def failure(rank, echo, time):
    common = {"local_rank": 0, "exit_code": 1, "exception": "E", "lines": [], "path": "/log"}
    return {"rank": rank, "echo": echo, "time": time, "message": f"of {rank}", **common}


def test_what_each_node_is_to_a_supervised_job():
    status = Status(time=1.0, members=("n1", "n2"), alive=("n1", "n4", "login1"))
    words = worker_group_words(("n1", "n2", "n3", "n4", "login1"), status, "login1")
    assert list(words.values()) == ["running", "running", "lost", "spare", "witness"]
    assert worker_group_words(("login1",), replace(status, alive=()), "login1") == {"login1": "lost"}


@pytest.mark.parametrize("described", [{}, {"supervision": []}, {"supervision": {"witness": ["n1"]}}])
def test_a_description_without_a_witness(described):
    assert witness_of(described) == ""


def test_the_first_failing_rank_of_all_nodes_is_named():
    failures = {"n1": failure(0, 1, 1.0), "n2": failure(8, 0, 2.0)}
    assert verdict_sentence("llama", {"n1": "failed", "n2": "failed"}, failures) == (
        "Job llama failed: rank 8 on n2 failed first: E: of 8\n"
        "rank 0 on n1 followed: it lost a peer\nThe whole log is /log on n2."
    )


def test_nodes_that_ended_well_are_named_before_a_rank_that_only_lost_others():
    worker_groups = {"n1": "failed", "n2": "succeeded"}
    assert verdict_sentence("llama", worker_groups, {"n1": failure(0, 1, 9.0)}).startswith(
        "Job llama failed: all ranks on n2 ended with exit status 0 while other ranks ran, which lost them; "
        "rank 0 on n1 failed first: E: of 0\n"
    )
    assert verdict_sentence("llama", worker_groups, {"n1": failure(0, 0, 9.0)}).startswith(
        "Job llama failed: rank 0 on n1 failed first: E: of 0\n"
    )


@pytest.mark.parametrize(
    ("worker_groups", "said"),
    [
        ({"n2": "absent", "n1": "absent", "n3": "stopped"}, "Job llama is not on n1, n2; start it there"),
        ({"n1": "stopped", "n2": "succeeded"}, "Job llama was stopped on n1 before it was done"),
    ],
)
def test_a_job_without_a_failure(worker_groups, said):
    assert said in verdict_sentence("llama", worker_groups, {})


@pytest.mark.parametrize(
    ("node", "host"),
    [
        ("gaudi-01", "gaudi-01"),
        ("192.0.2.2", "second"),
        ("gaudi-03", "gaudi-03.example.org"),
        ("gaudi-03.other.org", "gaudi-03.example.org"),
        # Which of two?
        ("twin", None),
        ("192.0.2.9", None),
        ("gaudi-09", None),
    ],
)
def test_a_node_of_slurms_is_found_in_the_inventory(node, host):
    addresses = {
        "gaudi-01": "192.0.2.1",
        "second": "192.0.2.2",
        "gaudi-03.example.org": "192.0.2.3",
        "twin.a": "192.0.2.9",
        "twin.b": "192.0.2.9",
    }
    assert host_of_node(node, addresses) == host
