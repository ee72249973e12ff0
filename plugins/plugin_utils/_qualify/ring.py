# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The largest ring of good nodes in which no neighbors share a bad link. Pure, but for the measuring it is given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

Link = frozenset[str]
# Whether a collective over these nodes, in this order, ends well.
Works = Callable[[tuple[str, ...]], bool]


@dataclass(frozen=True)
class Ring:
    """``nodes`` in the order of their ranks; ``left_out``: good nodes that no ring has place for."""

    nodes: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def without_cut(nodes: Sequence[str], cut: Collection[Link]) -> tuple[str, ...]:
    """The nodes to leave out, so that no two that are left have nothing between them; those with most such links."""
    left, out = list(nodes), list[str]()
    while True:
        counts = {node: sum(node in link and link <= {*left} for link in cut) for node in left}
        worst = max(left, key=lambda node: counts[node], default=None)
        if worst is None or not counts[worst]:
            return tuple(out)
        left.remove(worst)
        out.append(worst)


def build_ring(nodes: Sequence[str], bad_links: Collection[Link]) -> Ring:
    """All nodes, where their bad links leave a ring, in an order as near to the given one as that allows.

    A bad link between two neighbors is undone by turning round a part of the ring, so that two good ones come in its
    place. There is such a part wherever both have good links to at least half of the nodes (Ore's theorem). Where there
    is none, the node with most bad links is left out.
    """
    ring, left_out = list(nodes), list[str]()
    while len(ring) > 1:
        turned = _mended(ring, bad_links)
        if turned is not None:
            return Ring(tuple(turned), tuple(left_out))
        worst = max(ring, key=lambda node: sum(frozenset((node, other)) in bad_links for other in ring))
        ring.remove(worst)
        left_out.append(worst)
    return Ring(tuple(ring), tuple(left_out))


def _mended(ring: Sequence[str], bad_links: Collection[Link]) -> list[str] | None:
    """The ring without bad neighbors, or None. Each turn leaves one bad neighborhood fewer."""
    mended = list(ring)
    while (at := _first_bad(mended, bad_links)) is not None:
        # From here on, the bad link is that from the last one to the first.
        mended = mended[at + 1 :] + mended[: at + 1]
        first, last = mended[0], mended[-1]
        for place in range(len(mended) - 1):
            new = (frozenset((last, mended[place])), frozenset((first, mended[place + 1])))
            if all(len(link) > 1 and link not in bad_links for link in new):
                mended = mended[place::-1] + mended[place + 1 :]
                break
        else:
            return None
    return mended


def _first_bad(ring: Sequence[str], bad_links: Collection[Link]) -> int | None:
    for place, node in enumerate(ring):
        if frozenset((node, ring[(place + 1) % len(ring)])) in bad_links:
            return place
    return None


def who_stops_it(ring: Sequence[str], works: Works) -> str:
    """The node with which a ring that does not work first stops working, in about log2(n) measurements.

    The ring up to the node before works. A node alone is taken to work.
    """
    good, bad = 1, len(ring)
    while bad - good > 1:
        middle = (good + bad) // 2
        if works(tuple(ring[:middle])):
            good = middle
        else:
            bad = middle
    return ring[bad - 1]
