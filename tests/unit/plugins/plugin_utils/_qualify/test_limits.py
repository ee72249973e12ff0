# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A limit of time is no fault: slow storage, shared cores and a node that is asked late condemn nobody, and a hang that
others show to be one is named.
"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.results import (
    HEALTHY,
    INCONCLUSIVE,
    UNHEALTHY,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.conclusion import About, data_of, kept_out
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.funnel import qualify
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.search import search
from ansible_collections.gaudi3.scale.tests.unit.plugins.plugin_utils._qualify.fleet import Fleet

NAMES = ("a", "b", "c", "d", "e")
COMPUTE, NODE, PAIR, RING = "qualify-compute", "qualify-node", "qualify-pair", "qualify-ring"
OPTION, START_OPTION = "gaudi_qualify_group_timeout", "gaudi_qualify_start_timeout"


def data(fleet: Fleet, **wishes: Any) -> dict[str, Any]:
    found = qualify(fleet.names, fleet.wishes(**wishes), fleet.over())
    return data_of(found, About("quick", "2026-11-25T12:00:00Z", "hpu", 2), 0)


def states(found: dict[str, Any]) -> dict[str, str]:
    return {name: node["state"] for name, node in found["nodes"].items()}


def others(state: str, *named: str) -> dict[str, str]:
    return {name: state if name in named else HEALTHY for name in NAMES}


@pytest.mark.parametrize(("job", "stage"), [(COMPUTE, "compute"), (NODE, "collectives")])
def test_three_of_five_healthy_nodes_that_are_late_are_not_condemned(job: str, stage: str) -> None:
    """As five nodes that share two cores were: their ranks had not ended within the limit."""
    found = data(Fleet(*NAMES, late={(job, node): "measuring" for node in "bcd"}))
    assert states(found) == others(INCONCLUSIVE, "b", "c", "d")
    assert {found["nodes"][node]["action"] for node in "bcd"} == {"again"}
    said = found["left_out"]["b"]
    assert f"its ranks had not ended when the 60 s of {OPTION} were over: they were measuring on b." in said
    assert f"Run it again with a larger {OPTION}, and see the log of job {job}." in said
    # Neither isolated nor used.
    assert kept_out(found, 1.0) == ([], "")
    assert found["hosts"] == ["a", "e"]
    assert [found["nodes"][node]["stages"][stage]["state"] for node in "abc"] == ["passed", "unknown", "unknown"]


@pytest.mark.parametrize(("took", "state", "action"), [(4.0, UNHEALTHY, "isolate"), (40.0, INCONCLUSIVE, "again")])
@pytest.mark.parametrize("job", [COMPUTE, NODE])
def test_a_card_that_hangs_is_named_where_the_others_needed_a_small_part_of_its_time(
    job: str, took: float, state: str, action: str
) -> None:
    found = data(Fleet(*NAMES, late={(job, "c"): "measuring"}, took=took))
    assert states(found) == others(state, "c")
    assert found["nodes"]["c"]["action"] == action
    assert ("4 of 5 nodes finished the same in at most 5 s." in found["left_out"]["c"]) is (state == UNHEALTHY)


@pytest.mark.parametrize("names", [("a",), ("a", "c")])
def test_of_one_or_two_nodes_nobody_can_tell_whether_it_hangs(names: tuple[str, ...]) -> None:
    found = data(Fleet(*names, late={(NODE, names[-1]): "measuring"}))
    assert states(found)[names[-1]] == INCONCLUSIVE


@pytest.mark.parametrize("job", [COMPUTE, NODE])
def test_ranks_that_load_their_libraries_from_slow_storage_are_no_fault_of_the_node(job: str) -> None:
    found = data(Fleet(*NAMES, late={(job, "c"): ""}))
    assert states(found) == others(INCONCLUSIVE, "c")
    assert f"300 s of {START_OPTION} were over: they had not started on c." in found["left_out"]["c"]
    assert f"with a larger {START_OPTION}" in found["left_out"]["c"]


@pytest.mark.parametrize("job", [COMPUTE, NODE, PAIR, RING, "qualify-training"])
def test_a_node_that_answers_no_more_is_unknown_and_its_partners_are_not_accused(job: str) -> None:
    found = data(Fleet(*NAMES, gone={(job, "c")}))
    assert UNHEALTHY not in states(found).values()
    assert states(found)["c"] == INCONCLUSIVE
    assert "c did not report how its ranks ended (no answer within 300 s); run it again" in found["left_out"]["c"]


def test_a_node_that_is_late_with_each_partner_is_bad_where_those_were_quick_with_others() -> None:
    found = data(Fleet(*NAMES, late={(PAIR, "c"): "met"}))
    assert states(found) == others(UNHEALTHY, "c")
    assert "2 of its 2 pairs are faulty" in found["left_out"]["c"]


def test_a_node_whose_network_lets_no_rank_start_is_bad_since_they_start_alone() -> None:
    found = data(Fleet(*NAMES, late={(PAIR, "c"): ""}))
    assert states(found) == others(UNHEALTHY, "c")
    # Without a stage of its own nobody can tell it from slow storage.
    alone = data(Fleet(*NAMES, late={(PAIR, "c"): ""}), stages=("pairs",))
    assert states(alone) == others(INCONCLUSIVE, "c")
    assert START_OPTION in alone["left_out"]["c"] and alone["nodes"]["c"]["action"] == "again"


@pytest.mark.parametrize("stage", ["", "started", "met", "measuring"])
def test_where_every_pair_is_late_nobody_is_accused(stage: str) -> None:
    found = data(Fleet(*NAMES, late={(PAIR, node): stage for node in NAMES}))
    assert set(states(found).values()) == {INCONCLUSIVE}
    assert {node["action"] for node in found["nodes"].values()} == {"again"}
    assert found["hosts"] == []


def test_pairs_that_are_late_while_the_others_need_half_of_their_time_accuse_nobody() -> None:
    found = data(Fleet(*NAMES, late={(PAIR, "c"): "measuring"}, took=30.0))
    assert states(found) == others(INCONCLUSIVE, "c")


class Busy(Fleet):
    """Whose first pair of two nodes is late, and ends well once nothing else is measured."""

    def __init__(self) -> None:
        super().__init__(*NAMES)
        self.late: set[str] = set()

    def _ended(self, name: str, node: str, job: Any) -> dict[str, Any]:
        if name == PAIR and set(job["hosts"]) == {"a", "b"} and node not in self.late:
            self.late.add(node)
            return {"state": "running"}
        return super()._ended(name, node, job)


def test_a_pair_that_was_late_is_measured_again_alone_before_its_link_is_accused() -> None:
    fleet = Busy()
    found = data(fleet, pair_rounds=0)
    assert fleet.late == {"a", "b"}
    assert set(states(found).values()) == {HEALTHY} and found["links"] == {}
    assert [pair["busbw_gb_per_s"] for pair in found["pairs"] if set(pair["nodes"]) == {"a", "b"}] == [10.0]


def test_ranks_whose_patience_with_the_others_is_over_have_said_nothing_of_their_node() -> None:
    """b's ranks are late, and a's gave up on them; today's torch calls that an error of a."""
    fleet = Fleet("a", "b", "c", impatient={("qualify-training", "a")}, late={("qualify-training", "b"): "measuring"})
    found = data(fleet)
    assert set(states(found).values()) == {INCONCLUSIVE}
    assert "The client socket has timed out" in found["left_out"]["a"]


def test_a_training_that_is_late_accuses_nobody_and_names_its_option() -> None:
    found = data(Fleet(*NAMES, late={("qualify-training", "b"): "met"}))
    assert set(states(found).values()) == {INCONCLUSIVE}
    assert f"the 600 s of {OPTION} were over: they had met on a, b, c, d, e." in found["left_out"]["a"]


class Rings(Fleet):
    """Whose ring does not end with ``stopper`` in it; with ``longest``, no larger ring than that does."""

    def __init__(self, stopper: str = "", longest: int = 99, **faults: Any) -> None:
        super().__init__(*NAMES, **faults)
        self.stopper, self.longest = stopper, longest

    def _ended(self, name: str, node: str, job: Any) -> dict[str, Any]:
        if name == RING and (self.stopper in job["hosts"] or len(job["hosts"]) > self.longest):
            return {"state": "running"}
        return super()._ended(name, node, job)


def test_a_node_with_which_the_ring_hangs_is_named_where_the_ring_without_it_is_quick() -> None:
    found = data(Rings("d"))
    assert states(found) == others(UNHEALTHY, "d")
    assert "the all-reduce over the ring ended in 5 s without it, and failed with it" in found["left_out"]["d"]
    slow = data(Rings("d", took=30.0))
    assert states(slow) == others(INCONCLUSIVE, "d")
    assert slow["nodes"]["d"]["action"] == "again"


def test_a_ring_of_which_no_part_ends_in_time_accuses_nobody() -> None:
    fleet = Rings(longest=1)
    found = data(fleet)
    assert set(states(found).values()) == {INCONCLUSIVE}
    # The first halving has shown it; nobody waits three times over for as many nodes.
    assert len(fleet.groups(RING)) <= 4


def test_rings_that_end_only_while_they_are_small_accuse_nobody() -> None:
    assert UNHEALTHY not in states(data(Rings(longest=2))).values()


def test_a_search_leaves_a_node_that_is_late_everywhere_to_nobody_s_blame() -> None:
    slow = Fleet(*NAMES, "f", late={("find-bad-nodes", "c"): ""})
    found = search(slow.names, 0.15, 0.0, slow.over())
    assert (found["bad"], found["links"]) == ({}, [])
    assert {*found["unknown"]} == {"c"} and START_OPTION in found["unknown"]["c"]
    assert found["good"] == ["a", "b", "d", "e", "f"]


@pytest.mark.parametrize("names", [NAMES, ("a", "b", "c")])
def test_a_search_names_a_node_whose_ranks_hang_while_those_of_others_are_quick(names: tuple[str, ...]) -> None:
    fleet = Fleet(*names, late={("find-bad-nodes", "c"): "measuring"})
    found = search(fleet.names, 0.15, 0.0, fleet.over())
    assert {*found["bad"]} == {"c"} and len(found["bad"]["c"]) >= 2


def test_a_search_over_which_time_is_always_over_accuses_nobody() -> None:
    fleet = Fleet(*NAMES, late={("find-bad-nodes", node): "measuring" for node in NAMES})
    found = search(fleet.names, 0.15, 0.0, fleet.over())
    assert (found["bad"], found["links"], {*found["unknown"]}) == ({}, [], {*NAMES})


def test_two_between_which_nothing_passes_are_a_link_to_the_search() -> None:
    fleet = Fleet(*NAMES, "f", cut=[("c", "d")])
    found = search(fleet.names, 0.15, 0.0, fleet.over())
    assert (found["bad"], found["unknown"]) == ({}, {})
    assert [set(link) for link in found["links"]] == [{"c", "d"}]


class Own(Fleet):
    """``tests``: node -> what its test of a minute came to: seconds, and its limit where it had not ended."""

    def __init__(self, tests: dict[str, tuple[float, float]]) -> None:
        super().__init__(*tests)
        self.tests = tests

    def self_test(self, node: str) -> dict[str, Any]:
        answer = super().self_test(node)
        seconds, limit = self.tests[node]
        why = [f"hl_qual did not finish within {limit:.0f} s and was killed; run it again."] if limit else []
        state = {"state": "unknown", "limit": limit, "action": "isolate"} if limit else {}
        return {**answer, "tests": [{**answer["tests"][0], **state, "seconds": seconds, "reasons": why}]}


@pytest.mark.parametrize(
    ("tests", "state"),
    [
        # The others needed nothing of what is spare.
        ({"a": (61.0, 0.0), "b": (63.0, 0.0), "c": (240.0, 240.0)}, UNHEALTHY),
        # They needed most of it: the programs lie on slow storage.
        ({"a": (200.0, 0.0), "b": (210.0, 0.0), "c": (240.0, 240.0)}, INCONCLUSIVE),
        ({"a": (61.0, 0.0), "b": (240.0, 240.0), "c": (240.0, 240.0)}, INCONCLUSIVE),
        ({"a": (61.0, 0.0), "c": (240.0, 240.0)}, INCONCLUSIVE),
        ({"c": (240.0, 240.0)}, INCONCLUSIVE),
        # A burn-in takes most of its limit by itself.
        ({"a": (14402.0, 0.0), "b": (14403.0, 0.0), "c": (14580.0, 14580.0)}, UNHEALTHY),
    ],
)
def test_a_test_of_the_node_s_own_that_had_not_ended_is_held_against_the_other_nodes(
    tests: dict[str, tuple[float, float]], state: str
) -> None:
    found = data(Own(tests), stages=("self_test",))
    assert states(found)["c"] == state
    assert states(found).get("a", HEALTHY) == HEALTHY
    assert found["nodes"]["c"]["action"] == ("isolate" if state == UNHEALTHY else "again")
    assert "functional: hl_qual did not finish within" in found["left_out"]["c"]


@pytest.mark.parametrize(
    "claims",
    [
        {"reached": "quick"},
        {"reached": {"since": "now"}},
        {"started": 1004.0, "ended": 1000.0},
        {"started": 10**400},
        {"ended": float("nan")},
        {"started": True, "ended": []},
    ],
)
def test_what_a_node_claims_of_its_own_time_shows_no_limit_to_be_long_enough(claims: dict[str, Any]) -> None:
    """All but the one that hangs claim it, so that nothing is known by comparison."""

    class Liars(Fleet):
        def _ended(self, name: str, node: str, job: Any) -> dict[str, Any]:
            answer = super()._ended(name, node, job)
            return answer if node == "c" else {**answer, **claims}

    reached_only = "reached" in claims
    found = data(Liars(*NAMES, late={(NODE, "c"): "measuring"}, took=4.0), stages=("collectives",))
    assert states(found) == others(UNHEALTHY if reached_only else INCONCLUSIVE, "c")
