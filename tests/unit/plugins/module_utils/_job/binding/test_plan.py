# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The table of a node's ranks, from tables of its cores and cards."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.binding.plan import bind_ranks, check_bind, spread
from ansible_collections.gaudi3.scale.plugins.module_utils._job.binding.topology import Core

# Two sockets of 32 cores with SMT, as Linux numbers them: first each core's first processor, then all second ones.
SERVER = [Core((cpu, cpu + 64), cpu // 32) for cpu in range(64)]
EIGHT_CARDS = (0, 0, 0, 0, 1, 1, 1, 1)


def cores(*of_nodes):
    """``of_nodes`` cores of one processor on each NUMA node."""
    numbered = [node for node, count in enumerate(of_nodes) for _ in range(count)]
    return [Core((cpu,), node) for cpu, node in enumerate(numbered)]


def table(bind, there, nodes):
    """(CPUs, cores, NUMA node) of each rank."""
    bindings = [binding.as_dict() for binding in bind_ranks(bind, there, nodes, "n1")]
    assert [binding["local_rank"] for binding in bindings] == list(range(len(nodes)))
    return [(binding["cpus"], binding["cores"], binding["numa_node"]) for binding in bindings]


def test_eight_ranks_share_the_cores_of_their_cards_nodes_with_all_siblings():
    assert table("numa", SERVER, EIGHT_CARDS) == [
        ("0-7,64-71", 8, 0),
        ("8-15,72-79", 8, 0),
        ("16-23,80-87", 8, 0),
        ("24-31,88-95", 8, 0),
        ("32-39,96-103", 8, 1),
        ("40-47,104-111", 8, 1),
        ("48-55,112-119", 8, 1),
        ("56-63,120-127", 8, 1),
    ]


@pytest.mark.parametrize(
    ("bind", "there", "nodes", "expected"),
    [
        # Fewer ranks than cards: those that are there have all cores of their node.
        ("numa", SERVER, (0, 0), [("0-15,64-79", 16, 0), ("16-31,80-95", 16, 0)]),
        ("numa", SERVER, (0, 1), [("0-31,64-95", 32, 0), ("32-63,96-127", 32, 1)]),
        # Ranks whose cards are on the nodes in no order.
        ("numa", cores(2, 2), (1, 0, 0, 1), [("2", 1, 1), ("0", 1, 0), ("1", 1, 0), ("3", 1, 1)]),
        # Of an odd number the first ranks have one more.
        ("numa", cores(5, 3), (0, 0, 1), [("0-2", 3, 0), ("3-4", 2, 0), ("5-7", 3, 1)]),
        ("cores", cores(7), (0, 0, 0), [("0-2", 3, 0), ("3-4", 2, 0), ("5-6", 2, 0)]),
        # A share over the border belongs to no one node.
        ("cores", cores(3, 3), (0, 0, 0, 0), [("0-1", 2, 0), ("2-3", 2, None), ("4", 1, 1), ("5", 1, 1)]),
        # A card of which the kernel names no node, a kernel that knows of none.
        ("numa", cores(2, 2), (None, None), [("0-1", 2, 0), ("2-3", 2, 1)]),
        ("numa", cores(2, 2), (0, None), [("0-1", 2, 0), ("2-3", 2, 1)]),
        ("numa", [Core((0,), None), Core((1,), None)], (0, 0), [("0", 1, None), ("1", 1, None)]),
        # One core, one rank.
        ("numa", cores(1), (0,), [("0", 1, 0)]),
        ("cores", cores(1), (None,), [("0", 1, 0)]),
    ],
)
def test_the_table(bind, there, nodes, expected):
    assert table(bind, there, nodes) == expected


@pytest.mark.parametrize(
    ("bind", "there", "nodes", "has", "remedy"),
    [
        (
            "numa",
            cores(2, 8),
            (0, 0, 0, 1),
            "NUMA node 0 of n1 has 2 core(s) (CPUs 0-1) that the job may use for 3 ranks that belong there",
            "cores or none",
        ),
        # A cpuset that leaves out a whole node.
        (
            "numa",
            [Core((4, 5), 1)],
            (0,),
            "NUMA node 0 of n1 has 0 core(s) that the job may use for local rank 0",
            "cores or none",
        ),
        # There are too few cores altogether, so sharing them out differently is no way out.
        (
            "numa",
            cores(1, 1),
            (0, 0, 1),
            "NUMA node 0 of n1 has 1 core(s) (CPUs 0) that the job may use for 2 ranks that belong there",
            "none",
        ),
        (
            "cores",
            cores(1, 1),
            (0, 0, 1),
            "n1 has 2 core(s) (CPUs 0-1) that the job may use for 3 ranks that belong there",
            "none",
        ),
        (
            "numa",
            cores(1),
            (None, None),
            "n1 has 1 core(s) (CPUs 0) that the job may use for 2 ranks that belong there",
            "none",
        ),
    ],
)
def test_a_rank_without_a_core_is_refused(bind, there, nodes, has, remedy):
    with pytest.raises(GaudiError) as refusal:
        bind_ranks(bind, there, nodes, "n1")
    ways_out = f"set it to {remedy}, or start fewer ranks there (processes_per_node)"
    assert str(refusal.value) == f"bind is {bind} (gaudi_training_bind), but {has}; {ways_out}."


@pytest.mark.parametrize(
    ("ranks", "there", "nodes"),
    [
        (4, cores(2, 2), (0, 0, 1, 1)),
        (3, cores(2, 2), (0, 0, 1)),
        (1, cores(2, 2), (0,)),
        (2, cores(2), (0, 0)),
        (2, [Core((0,), None)], (None, None)),
        (2, [], (None, None)),
    ],
)
def test_ranks_without_cards_are_spread_evenly_in_their_order(ranks, there, nodes):
    assert spread(ranks, there) == nodes


def test_an_unknown_binding_is_refused():
    for bind in ("numa", "cores", "none"):
        check_bind(bind)
    with pytest.raises(
        GaudiError, match=r"bind 'socket' \(gaudi_training_bind\) is not known; give one of numa, cores, none"
    ):
        check_bind("socket")
