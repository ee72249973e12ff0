# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import random

import pytest

from gaudi3_scale.supervisor.linked_set import largest_linked


def without(nodes, pairs):
    apart = {frozenset(pair) for pair in pairs}
    return {one: {other for other in nodes if frozenset((one, other)) not in apart} for one in nodes}


@pytest.mark.parametrize(
    ("order", "apart", "enough", "chosen"),
    [
        ([0, 1, 2, 3], [], 4, (0, 1, 2, 3)),
        # Whoever comes first stays, where that costs nobody.
        ([0, 1, 2, 3], [(2, 3)], 4, (0, 1, 2)),
        # A node that reaches only the first one does not keep out all that reach each other.
        ([0, 1, 2, 3, 4], [(1, 2), (1, 3), (1, 4)], 4, (0, 2, 3, 4)),
        ([0, 1, 2, 3, 4], [(0, 3), (0, 4)], 5, (1, 2, 3, 4)),
        # Of more than are wanted the first ones.
        ([2, 0, 1, 3], [(2, 3)], 3, (2, 0, 1)),
        ([2, 0, 1, 3], [(2, 0), (2, 1)], 2, (2, 3)),
        ([], [], 3, ()),
    ],
)
def test_the_most_that_are_all_linked_and_the_first_of_them(order, apart, enough, chosen):
    assert largest_linked(order, without(order, apart), enough) == chosen


@pytest.mark.parametrize("seed", range(30))
def test_no_larger_set_is_there(seed):
    chance = random.Random(seed)
    nodes = range(9)
    apart = [pair for pair in itertools.combinations(nodes, 2) if chance.random() < 0.35]
    linked = without(nodes, apart)
    found = largest_linked(nodes, linked, len(nodes))
    sets = [
        chosen
        for size in range(len(nodes), 0, -1)
        for chosen in itertools.combinations(nodes, size)
        if all(other in linked[one] for one, other in itertools.combinations(chosen, 2))
    ]
    assert found == sets[0]


def test_sixty_four_nodes_in_a_bad_network_are_chosen_from_at_once():
    chance = random.Random(1)
    apart = [pair for pair in itertools.combinations(range(64), 2) if chance.random() < 0.3]
    linked = without(range(64), apart)
    found = largest_linked(range(64), linked, 64)
    assert len(found) > 8 and all(other in linked[one] for one, other in itertools.combinations(found, 2))
