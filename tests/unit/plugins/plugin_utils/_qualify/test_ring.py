# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Rounds of pairs, blame and the ring, with fleets and bad links that Hypothesis looks for."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.blame import blame
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.pair_rounds import (
    first_rounds,
    rounds_of_pairs,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.ring import (
    build_ring,
    who_stops_it,
    without_cut,
)
from hypothesis import given, settings
from hypothesis import strategies as st

# The same examples in every run: a failure is one of this commit.
steady = settings(derandomize=True, deadline=None, max_examples=200)


def names(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


@st.composite
def fleets(draw: st.DrawFn, most_links: float = 1.0) -> tuple[list[str], set[frozenset[str]]]:
    """Nodes, and bad links between some of them."""
    nodes = names(draw(st.integers(1, 16)))
    every = [frozenset(pair) for pair in combinations(nodes, 2)]
    bad = draw(st.sets(st.sampled_from(every), max_size=int(most_links * len(every)))) if every else set()
    return nodes, bad


@given(st.integers(0, 40))
@steady
def test_every_two_nodes_meet_once_in_as_few_rounds_as_there_can_be(count: int) -> None:
    rounds = rounds_of_pairs(names(count))
    assert len(rounds) == max(0, count - 1 + count % 2) or count < 2
    met = [frozenset(pair) for pairs in rounds for pair in pairs]
    assert len(met) == len(set(met)) == math.comb(count, 2)
    for pairs in rounds:
        nodes = [node for pair in pairs for node in pair]
        assert len(nodes) == len(set(nodes))


def test_some_rounds_are_the_first_of_all() -> None:
    nodes = names(8)
    assert first_rounds(nodes, 3) == rounds_of_pairs(nodes)[:3]
    assert first_rounds(nodes, 0) == rounds_of_pairs(nodes)


@given(fleets())
@steady
def test_no_two_neighbors_of_a_ring_share_a_bad_link_and_nobody_is_lost(
    fleet: tuple[list[str], set[frozenset[str]]],
) -> None:
    nodes, bad = fleet
    ring = build_ring(nodes, bad)
    assert sorted((*ring.nodes, *ring.left_out)) == sorted(nodes)
    if len(ring.nodes) > 1:
        around = zip(ring.nodes, (*ring.nodes[1:], ring.nodes[0]))
        assert not [pair for pair in around if frozenset(pair) in bad]


@given(fleets())
@steady
def test_every_node_has_its_place_where_each_has_good_links_to_half_of_all(
    fleet: tuple[list[str], set[frozenset[str]]],
) -> None:
    """Dirac's theorem, from three nodes on."""
    nodes, bad = fleet
    most_bad = max(sum(node in link for link in bad) for node in nodes)
    if len(nodes) >= 3 and len(nodes) - 1 - most_bad >= len(nodes) / 2:
        assert build_ring(nodes, bad).left_out == ()


@given(fleets())
@steady
def test_of_two_nodes_with_nothing_between_them_one_is_left(fleet: tuple[list[str], set[frozenset[str]]]) -> None:
    nodes, cut = fleet
    out = without_cut(nodes, cut)
    left = {*nodes} - {*out}
    assert not [link for link in cut if link <= left]
    assert left
    if not cut:
        assert out == ()


def test_without_bad_links_the_order_is_as_it_was() -> None:
    assert build_ring(names(9), set()).nodes == tuple(names(9))


@given(st.integers(4, 24), st.data())
@steady
def test_all_bad_nodes_are_blamed_and_no_good_one(count: int, data: st.DataObject) -> None:
    """Every pair was measured, fewer than half of the nodes are bad, and some pairs of good nodes are bad, too."""
    nodes = names(count)
    bad = set(data.draw(st.sets(st.sampled_from(nodes), max_size=(count - 1) // 2)))
    good = [node for node in nodes if node not in bad]
    # As many as leave most of each good node's pairs good.
    some = data.draw(
        st.sets(st.sampled_from([frozenset(pair) for pair in combinations(good, 2)] or [frozenset()]), max_size=1)
    )
    pairs = {pair: bool(bad & {*pair}) or frozenset(pair) in some for pair in combinations(nodes, 2)}
    found = blame(pairs)
    assert {*found.nodes} == bad
    assert {frozenset(link) for link in found.links} == some - {frozenset()}


@pytest.mark.parametrize("rounds", [2, 3])
@given(count=st.integers(6, 40), at=st.integers(0, 39))
@steady
def test_two_or_three_partners_tell_one_bad_node(rounds: int, count: int, at: int) -> None:
    nodes = names(count - count % 2)
    bad = nodes[at % len(nodes)]
    pairs = {pair: bad in pair for some in first_rounds(nodes, rounds) for pair in some}
    found = blame(pairs)
    assert ({*found.nodes}, found.links) == ({bad}, ())


@given(st.integers(2, 300), st.data())
@steady
def test_who_stops_a_ring_is_found_in_the_logarithm_of_its_length(count: int, data: st.DataObject) -> None:
    nodes = names(count)
    stopper = data.draw(st.sampled_from(nodes[1:]))
    asked: list[tuple[str, ...]] = []

    def works(some: tuple[str, ...]) -> bool:
        asked.append(some)
        return stopper not in some

    assert who_stops_it(nodes, works) == stopper
    assert len(asked) <= math.ceil(math.log2(count)) + 1
