# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which nodes to go on with where not every one hears every other: the most that are all linked with each other."""

from __future__ import annotations

from typing import AbstractSet, Mapping, Sequence

# Finding the largest such set takes, in the worst of networks, longer than anybody waits; what was found is then taken.
MOST_TRIES = 5000


def largest_linked(order: Sequence[int], linked: Mapping[int, AbstractSet[int]], enough: int) -> tuple[int, ...]:
    """Of ``order`` the largest set in which all are linked, in that order; of equally large ones the one whose nodes
    come first. More than ``enough`` are not looked for. ``linked``: by node those that it is linked with, both ways.
    """
    nodes = list(dict.fromkeys(order))
    apart = {node: set(nodes) - linked[node] - {node} for node in nodes}
    if not any(apart.values()):
        return tuple(nodes)
    best: list[int] = []
    tries = MOST_TRIES
    # Depth first, with each node taken before it is left out: the first of equally large sets is found first.
    open_ends: list[tuple[list[int], list[int]]] = [([], nodes)]
    while open_ends and tries:
        tries -= 1
        kept, left = open_ends.pop()
        while left and not apart[left[0]] & set(left):
            # Nobody left stands against it.
            kept, left = [*kept, left[0]], left[1:]
        if len(kept) + len(left) <= len(best):
            continue
        if not left:
            best = kept
            if len(best) >= enough:
                break
            continue
        node, rest = left[0], left[1:]
        open_ends.append((kept, rest))
        open_ends.append(([*kept, node], [other for other in rest if other not in apart[node]]))
    return tuple(best)
