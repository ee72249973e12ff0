# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which ranks and nodes the others wait for, and which link all of them go at the pace of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Optional, Sequence

from .records import RankRecord
from .rules import APART, RULES, SLOW_LINK_RATIO, SLOW_NODE, SLOW_RANK, STEADY
from .side_by_side import OWN_PARTS, Measured, RankMeans, typical


@dataclass(frozen=True)
class Behind:
    """``ranks`` of ``node`` need ``seconds`` more a step than a rank without a fault, most of it in ``part``."""

    word: str
    ranks: tuple[int, ...]
    node: str
    seconds: float
    part: str
    steady: float


@dataclass(frozen=True)
class SlowLink:
    """``ratio`` is its time by that of the fastest link of its kind."""

    source: int
    target: int
    seconds: float
    ratio: float
    between_nodes: bool


def behind(measured: Measured) -> list[Behind]:
    """Nodes of which every rank is slow, and the ranks that are slow beside them; the slowest first.

    What counts is a rank's own work, without what it waited for a processor: that is taken by others.
    """
    usual = typical([rank.own for rank in measured.ranks])
    columns = [typical(column) for column in zip(*(rank.each_own for rank in measured.ranks))]
    apart = _apart(measured)
    slow = {
        rank.rank: rank
        for rank in measured.ranks
        if rank.own >= apart
        and _notable(rank.own - usual, measured, SLOW_RANK)
        and _steady(rank, columns, measured) >= STEADY
    }
    nodes = _slow_nodes(measured, slow)
    found = []
    for node, excess in nodes.items():
        members = [rank for rank in measured.ranks if rank.node == node]
        found.append(_behind(SLOW_NODE, members, usual + excess, usual, measured, columns))
    for rank in slow.values():
        # On a slow node only what a rank needs beyond its neighbors.
        base = usual + nodes.get(rank.node, 0.0)
        if _notable(rank.own - base, measured, SLOW_RANK):
            found.append(_behind(SLOW_RANK, [rank], rank.own - base + usual, usual, measured, columns))
    return sorted(found, key=lambda one: -one.seconds)


def slow_links(records: Sequence[RankRecord]) -> list[SlowLink]:
    """Links that take several times as long as the fastest of their kind; the slowest first."""
    nodes = {record.rank: record.node for record in records}
    links = [
        (link.peer, record.rank, link.seconds) for record in records for link in record.links if link.peer in nodes
    ]
    found = []
    for between in (False, True):
        kind = [link for link in links if (nodes[link[0]] != nodes[link[1]]) is between]
        fastest = min((seconds for _source, _target, seconds in kind if seconds > 0), default=0.0)
        if len(kind) < 2 or not fastest:
            continue
        found += [
            SlowLink(source, target, seconds, seconds / fastest, between)
            for source, target, seconds in kind
            if seconds >= SLOW_LINK_RATIO * fastest
        ]
    return sorted(found, key=lambda link: -link.ratio)


def _notable(seconds: float, measured: Measured, word: str) -> bool:
    return seconds >= RULES[word].least * measured.seconds


def _apart(measured: Measured) -> float:
    """The least busy time of those that stand apart from ranks without a fault. On a busy host these differ by as much
    as one that is a little slow, but evenly: none of them is far from the next one."""
    ordered = sorted(rank.own for rank in measured.ranks)
    least = APART * RULES[SLOW_RANK].least * measured.seconds
    return next((above for below, above in zip(ordered, ordered[1:]) if above - below >= least), float("inf"))


def _steady(rank: RankMeans, columns: Sequence[float], measured: Measured) -> float:
    """In which part of the steps it was behind by half of what is notable: one late step is no slow rank."""
    least = RULES[SLOW_RANK].least * measured.seconds / 2
    return sum(own - usual >= least for own, usual in zip(rank.each_own, columns)) / len(columns)


def _slow_nodes(measured: Measured, slow: Mapping[int, RankMeans]) -> dict[str, float]:
    """What the fastest rank of a node needs more, where all of its ranks are slow and it has several."""
    by_node: dict[str, list[RankMeans]] = {}
    for rank in measured.ranks:
        by_node.setdefault(rank.node, []).append(rank)
    usual = typical([rank.own for rank in measured.ranks])
    return {
        node: min(rank.own for rank in ranks) - usual
        for node, ranks in by_node.items()
        if len(ranks) > 1 and len(by_node) > 1 and all(rank.rank in slow for rank in ranks)
    }


def _behind(
    word: str,
    ranks: Sequence[RankMeans],
    busy: float,
    usual: float,
    measured: Measured,
    columns: Sequence[float],
) -> Behind:
    return Behind(
        word,
        tuple(rank.rank for rank in ranks),
        ranks[0].node,
        busy - usual,
        _part(ranks, measured) or "",
        min(_steady(rank, columns, measured) for rank in ranks),
    )


def _part(ranks: Sequence[RankMeans], measured: Measured) -> Optional[str]:
    """The part of a step in which these ranks are furthest behind."""
    usual = {part: typical([rank.parts[part] for rank in measured.ranks]) for part in OWN_PARTS}
    more = {part: min(rank.parts[part] for rank in ranks) - usual[part] for part in OWN_PARTS}
    return max(more, key=lambda part: more[part])
