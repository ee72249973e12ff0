# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Each kind of bad node, pair and ring among good ones: it is found and named, and nothing else is blamed."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.results import (
    HEALTHY,
    INCONCLUSIVE,
    UNHEALTHY,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.conclusion import About, data_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.funnel import qualify
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.search import search
from ansible_collections.gaudi3.scale.tests.unit.plugins.plugin_utils._qualify.fleet import Fleet

NAMES = ("a", "b", "c", "d", "e", "f")


def data(fleet: Fleet, spares: int = 0, **wishes: Any) -> dict[str, Any]:
    found = qualify(fleet.names, fleet.wishes(**wishes), fleet.over())
    return data_of(found, About("quick", "2026-11-25T12:00:00Z", "hpu", 2), spares)


def states(found: dict[str, Any]) -> dict[str, str]:
    return {name: node["state"] for name, node in found["nodes"].items()}


def others(state: str, *bad: str) -> dict[str, str]:
    return {name: state if name in bad else HEALTHY for name in NAMES}


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6])
def test_good_nodes_are_all_hosts_in_their_order(count: int) -> None:
    found = data(Fleet(*NAMES[:count]))
    assert set(states(found).values()) == {HEALTHY}
    assert found["hosts"] == list(NAMES[:count])
    assert found["left_out"] == {}


def test_each_pair_is_measured_once_and_no_node_twice_in_a_round() -> None:
    found = data(Fleet(*NAMES), pair_rounds=0)
    assert len({frozenset(pair["nodes"]) for pair in found["pairs"]}) == len(found["pairs"]) == 15
    for number in range(1, 6):
        met = [node for pair in found["pairs"] if pair["round"] == number for node in pair["nodes"]]
        assert sorted(met) == list(NAMES)


FAULTS: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "self test": ({"alone": {"c": "the card is hot."}}, "c", "functional: the card is hot.", "self_test"),
    "wrong values": ({"wrong": {"c": 1}}, "c", "the card of rank 1 computes wrongly", "compute"),
    "slow card": (
        {"slow_cards": {("c", 1): 200.0}},
        "c",
        "module 1 has 200 TFLOPS of products, and the median is 400",
        "compute",
    ),
    "slow node": ({"rates": {"c": 5.0}}, "c", "its own cards has 5 GB/s, and the median is 10", "collectives"),
    "hang with others": ({"hung": ["c"]}, "c", "2 of its 2 pairs are faulty", "pairs"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_one_bad_node_is_named_with_its_stage_and_nobody_else(name: str) -> None:
    faults, bad, reason, stage = FAULTS[name]
    fleet = Fleet(*NAMES, **faults)
    found = data(fleet)
    assert states(found) == others(UNHEALTHY, bad)
    assert reason in found["left_out"][bad]
    assert [one for one, outcome in found["nodes"][bad]["stages"].items() if outcome["state"] == "failed"] == [stage]
    assert found["hosts"] == [node for node in NAMES if node != bad]
    # Nobody waits for it in a later stage.
    assert fleet.groups("qualify-training") == [tuple(found["hosts"])]


def test_ranks_that_hang_are_stopped_in_each_round_and_the_node_is_given_up() -> None:
    fleet = Fleet(*NAMES, hung=["c"])
    found = data(fleet, pair_rounds=0)
    assert fleet.stopped.count("c") == 2
    assert len([pair for pair in found["pairs"] if "c" in pair["nodes"]]) == 2


def test_two_slow_nodes_of_four_pairs_each_are_found_behind_a_slow_network() -> None:
    """Their own cards are fast; only what leaves the node is slow."""
    links = {(bad, other): 1.0 for bad in "bc" for other in NAMES if other != bad}
    found = data(Fleet(*NAMES, slow_links=links), pair_rounds=0)
    assert states(found) == others(UNHEALTHY, "b", "c")


def test_of_two_nodes_that_cannot_talk_neither_is_accused_and_a_job_has_one() -> None:
    found = data(Fleet(*NAMES, cut=[("c", "d")]), pair_rounds=0)
    assert UNHEALTHY not in states(found).values()
    (left,) = found["left_out"]
    assert left in ("c", "d")
    assert "a job connects all nodes with each other: the all-reduce over" in found["left_out"][left]
    assert set(found["hosts"]) == {*NAMES} - {left}
    assert {found["nodes"][node]["action"] for node in "cd"} == {"watch"}


def test_a_slow_link_is_gone_round_and_named_at_both_ends() -> None:
    found = data(Fleet(*NAMES, slow_links={("a", "b"): 2.0}), pair_rounds=0)
    assert set(states(found).values()) == {HEALTHY}
    ring = found["ring"]["hosts"]
    neighbors = {frozenset(pair) for pair in zip(ring, [*ring[1:], ring[0]])}
    assert len(ring) == 6 and frozenset("ab") not in neighbors
    assert [name for name, node in found["nodes"].items() if node["remarks"]] == ["a", "b"]


def test_of_two_nodes_alone_nobody_can_tell_whose_fault_it_is() -> None:
    assert set(states(data(Fleet("a", "b", cut=[("a", "b")]))).values()) == {INCONCLUSIVE}


def test_nodes_that_are_held_or_do_not_answer_stop_nobody() -> None:
    fleet = Fleet(*NAMES, held={"b": "The cards are held by process 7 (python)."}, deaf=["e"])
    found = data(fleet)
    assert states(found) == others(INCONCLUSIVE, "b", "e")
    assert "process 7" in found["left_out"]["b"] and "No route to host" in found["left_out"]["e"]


def test_a_node_of_another_generation_is_measured_alone_and_not_with_the_others() -> None:
    fleet = Fleet(*NAMES, generations={"d": "gaudi2"})
    found = data(fleet)
    assert states(found) == others(INCONCLUSIVE, "d")
    assert "its cards are gaudi2, and those of most nodes gaudi3" in found["left_out"]["d"]
    assert found["nodes"]["d"]["stages"]["collectives"]["state"] == "passed"
    assert not [pair for pair in found["pairs"] if "d" in pair["nodes"]]


def test_without_following_the_tests_are_begun_and_nothing_is_claimed() -> None:
    fleet = Fleet(*NAMES)
    fleet.self_test = lambda _node: {**Fleet("a").self_test("a"), "state": "running"}  # type: ignore[method-assign]
    found = data(fleet, follow=False)
    assert set(states(found).values()) == {INCONCLUSIVE}
    assert fleet.asked == []


def test_spares_are_healthy_nodes_and_one_host_is_left() -> None:
    found = data(Fleet(*NAMES), spares=2)
    assert (found["hosts"], found["spares"]) == (list(NAMES[:4]), ["e", "f"])
    assert len(data(Fleet("a", "b"), spares=9)["hosts"]) == 1


def test_a_search_tells_each_round_and_leaves_a_node_that_does_not_start_to_nobody_s_blame() -> None:
    fleet = Fleet(*NAMES, rates={"c": 5.0}, deaf=["f"])
    found = search(fleet.names, 0.15, 0.0, fleet.over())
    assert {*found["bad"]} == {"c"}
    assert {*found["unknown"]} == {"f"} and "its ranks did not start" in found["unknown"]["f"]
    assert found["good"] == ["a", "b", "d", "e"]
    assert len(fleet.shown) == found["rounds"]
    assert "not measured: e and f" in fleet.shown[0]
