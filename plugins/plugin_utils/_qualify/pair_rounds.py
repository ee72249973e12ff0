# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Every two of several nodes, in as few rounds as there can be: no node is in two pairs of one round. Pure."""

from __future__ import annotations

from collections.abc import Sequence

Pairs = list[tuple[str, str]]


def rounds_of_pairs(nodes: Sequence[str]) -> list[Pairs]:
    """n - 1 rounds for an even number of nodes, n for an odd one, of which one rests in each (the circle method)."""
    circle: list[str | None] = [*nodes, None] if len(nodes) % 2 else [*nodes]
    rounds = []
    for _turn in range(len(circle) - 1):
        half = len(circle) // 2
        met = zip(circle[:half], reversed(circle[half:]))
        rounds.append([(one, other) for one, other in met if one is not None and other is not None])
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return rounds


def first_rounds(nodes: Sequence[str], count: int) -> list[Pairs]:
    """So many of the rounds; all of them with 0."""
    rounds = rounds_of_pairs(nodes)
    return rounds[:count] if count else rounds
