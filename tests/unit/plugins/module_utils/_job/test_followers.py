# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.module_utils._job.agent_table import AgentEntry
from ansible_collections.gaudi3.scale.plugins.module_utils._job.failure import rank_failure
from ansible_collections.gaudi3.scale.plugins.module_utils._job.followers import first_with_others, with_others
from ansible_collections.gaudi3.scale.plugins.module_utils._job.reported_failure import failure_from, failure_sentence


def failed(rank, code=1, time=10.0, stderr="ValueError: bad\n"):
    return rank_failure(AgentEntry(rank, rank % 8, code, time, wrote_error=False), None, stderr, "/log")


def test_each_rank_of_a_node_has_a_line():
    lost = "RuntimeError: Connection closed by peer\n"
    others = [failed(2, -15), failed(0, 1, 10.4, "KeyError: 'x'\n"), failed(3, 1, 11.0, lost)]
    assert with_others(failed(1), others).others == (
        "rank 0 followed 0.4 s later: KeyError: 'x'",
        "rank 2 followed: its agent ended it",
        "rank 3 followed: it lost a peer",
    )


def test_the_ranks_of_other_nodes_have_theirs_with_their_node():
    first = with_others(failed(1), [failed(0, -15)]).as_dict()
    second = with_others(failed(8, 1, 12.0, "RuntimeError: Connection closed by peer\n"), [failed(9, -15)]).as_dict()
    host, failure = first_with_others({"n1": first, "n2": second, "n3": {}}, ["n1", "n2", "n3"])
    assert (host, failure["rank"]) == ("n1", 1)
    assert failure["others"] == [
        "rank 0 on n1 followed: its agent ended it",
        "rank 8 on n2 followed: it lost a peer",
        "rank 9 on n2 followed: its agent ended it",
        "the ranks on n3 followed: they were ended",
    ]
    assert first_with_others({"n1": {}}) is None


def test_of_five_hundred_ranks_the_rest_are_counted():
    nodes = {
        f"n{node}": with_others(
            failed(8 * node, 1, 10.0 + node), [failed(8 * node + r, -15) for r in range(1, 8)]
        ).as_dict()
        for node in range(64)
    }
    host, failure = first_with_others(nodes)
    assert host == "n0"
    assert len(failure["others"]) == 15
    assert failure["others"][-1] == "497 more followed"
    said = failure_sentence(host, failure_from(failure)).splitlines()
    assert [line for line in said if "followed" in line][-1] == "508 more followed"
    assert len(said) <= 24


def test_lines_of_whoever_are_no_figures():
    strange = {**failed(1).as_dict(), "others": ["x more followed", "9999999999999 more followed", 7]}
    assert first_with_others({"n1": strange})[1]["others"]
    assert failure_sentence("n1", failure_from(strange))
