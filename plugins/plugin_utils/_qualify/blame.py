# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whose fault a slow or failed pair is: a node's, or that of what lies between two good ones. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median_high

Edge = tuple[str, str]
# One bad pair may be the fault of either node, or of neither.
_FEWEST = 2


@dataclass(frozen=True)
class Blame:
    """``nodes``: bad ones, each with how many of its pairs were bad, and of how many. ``links``: bad pairs of nodes
    that work with others."""

    nodes: Mapping[str, tuple[int, int]]
    links: tuple[Edge, ...]


def expected_rate(rates: Iterable[float]) -> float:
    """What a good pair has: the median, as long as no more than half of them are bad. 0 where there is none."""
    return median_high(known) if (known := list(rates)) else 0.0


def is_bad(rate: float | None, expected: float, tolerance: float) -> bool:
    """Whether a pair failed, or is more than the part ``tolerance`` slower than expected."""
    return rate is None or rate < expected * (1 - tolerance)


def blame(pairs: Mapping[Edge, bool]) -> Blame:
    """``pairs``: whether each was bad. A node with most of its pairs bad is one; the worst is taken out first, since it
    makes pairs of good nodes look bad, and what is then left is looked at again.
    """
    left = dict(pairs)
    nodes: dict[str, tuple[int, int]] = {}
    while True:
        counts = _counts(left)
        suspects = {node: (bad, of) for node, (bad, of) in counts.items() if bad >= _FEWEST and bad > of / 2}
        if not suspects:
            return Blame(nodes, tuple(edge for edge, bad in left.items() if bad))
        worst = max(suspects, key=lambda node: (suspects[node][0] / suspects[node][1], suspects[node][0]))
        nodes[worst] = suspects[worst]
        left = {edge: bad for edge, bad in left.items() if worst not in edge}


def _counts(pairs: Mapping[Edge, bool]) -> dict[str, tuple[int, int]]:
    """Node -> how many of its pairs are bad, and how many it has."""
    found: dict[str, tuple[int, int]] = {}
    for edge, bad in pairs.items():
        for node in edge:
            before, of = found.get(node, (0, 0))
            found[node] = (before + bad, of + 1)
    return found
