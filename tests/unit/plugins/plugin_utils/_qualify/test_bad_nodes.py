# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The finder against a thousand random fleets with noise: no good node is accused, and all bad ones are found."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.bad_nodes import Groups, find_bad

GOOD, TOLERANCE = 100.0, 0.15


class Fleet:
    """``bad`` nodes have a fraction of the rate or none, ``cut`` pairs none; the noise is that of good networks."""

    def __init__(
        self, count: int, bad: dict[int, float | None], seed: int, noise: float = 0.03, cut: Sequence[set[str]] = ()
    ) -> None:
        self.nodes = [f"n{number}" for number in range(count)]
        self.bad = {f"n{number}": rate for number, rate in bad.items()}
        self.cut, self.noise, self.random = cut, noise, random.Random(seed)
        self.rounds: list[Groups] = []

    def measure(self, groups: Groups) -> list[float | None]:
        nodes = [node for group in groups for node in group]
        assert len(nodes) == len(set(nodes)) and all(len(group) > 1 for group in groups)
        self.rounds.append(groups)
        return [self._rate(group) for group in groups]

    def _rate(self, group: tuple[str, ...]) -> float | None:
        if any(pair <= {*group} for pair in self.cut):
            return None
        rates = [self.bad.get(node, 1.0) for node in group]
        slowest = None if None in rates else min(rate for rate in rates if rate is not None)
        return None if slowest is None else GOOD * slowest * (1 + self.random.gauss(0, self.noise))


@pytest.mark.parametrize("part", range(10))
def test_in_a_thousand_random_fleets_no_good_node_is_accused_and_no_bad_one_missed(part: int) -> None:
    for seed in range(100 * part, 100 * part + 100):
        draw = random.Random(seed)
        count = draw.randint(4, 128)
        faults = draw.randint(0, count // 8)
        bad = {number: draw.choice([0.3, 0.5, 0.6, None]) for number in draw.sample(range(count), faults)}
        fleet = Fleet(count, bad, seed)
        found = find_bad(fleet.nodes, fleet.measure, TOLERANCE)
        assert {*found.bad} == {*fleet.bad}, seed
        partners = {node: {said.partition(":")[0] for said in evidence} for node, evidence in found.bad.items()}
        assert all(len(partners[node]) == len(evidence) >= 2 for node, evidence in found.bad.items())
        assert found.questions == sum(map(len, fleet.rounds)) <= count / 2 + 8 * faults + 8
        assert found.questions <= max(8, count * math.log2(count))
        assert found.rounds == len(fleet.rounds)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 64, 65])
def test_a_good_fleet_takes_a_round_or_a_few_and_with_an_expected_rate_one_question(count: int) -> None:
    fleet = Fleet(count, {}, 1)
    found = find_bad(fleet.nodes, fleet.measure, TOLERANCE)
    assert (found.bad, found.links, found.unknown) == ({}, [], {})
    assert found.rounds <= 3
    once = find_bad(fleet.nodes, Fleet(count, {}, 1).measure, TOLERANCE, expected=GOOD)
    assert (once.questions, once.rounds, dict(once.bad)) == (1, 1, {})


@pytest.mark.parametrize("bad", [0, 1, 2])
@pytest.mark.parametrize("rate", [0.5, None])
def test_one_of_three_is_found(bad: int, rate: float | None) -> None:
    fleet = Fleet(3, {bad: rate}, 1)
    assert {*find_bad(fleet.nodes, fleet.measure, TOLERANCE).bad} == {f"n{bad}"}


def test_one_of_two_cannot_be_told_from_the_other() -> None:
    fleet = Fleet(2, {0: None}, 1)
    found = find_bad(fleet.nodes, fleet.measure, TOLERANCE)
    assert (dict(found.bad), {*found.unknown}) == ({}, {"n0", "n1"})


@pytest.mark.parametrize("pair", [{"n0", "n1"}, {"n6", "n7"}])
def test_two_that_cannot_talk_accuse_their_link_and_neither_node(pair: set[str]) -> None:
    fleet = Fleet(8, {}, 1, cut=[pair])
    found = find_bad(fleet.nodes, fleet.measure, TOLERANCE)
    assert (dict(found.bad), [{*link} for link in found.links]) == ({}, [pair])


def test_where_nothing_works_nobody_is_accused() -> None:
    fleet = Fleet(8, dict.fromkeys(range(8)), 1)
    found = find_bad(fleet.nodes, fleet.measure, TOLERANCE)
    assert (dict(found.bad), len(found.unknown)) == ({}, 8)


def test_the_evidence_is_what_was_measured() -> None:
    fleet = Fleet(8, {2: 0.5}, 1, noise=0.0)
    (evidence,) = find_bad(fleet.nodes, fleet.measure, TOLERANCE).bad.values()
    assert evidence[0] == "with n3: 50 GB/s" and len(evidence) == 3
