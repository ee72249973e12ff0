# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What pairs and the ring mean for each node. Pure, but for the ring's measurements."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import rounded
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.results import (
    AGAIN,
    FAILED,
    ISOLATE,
    PASSED,
    UNKNOWN,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_collectives import GroupResult
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_limit import QUICK, evidence
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.blame import (
    Blame,
    blame,
    expected_rate,
    is_bad,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.judgment import BUSBW
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.network import RING_JOB, Over, Pair, bandwidth
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.ring import (
    build_ring,
    who_stops_it,
    without_cut,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.stages import Outcome

_NO_PLACE = "its faulty links leave it no place in a ring; see the pairs."
# A ring that stops again without the node that stopped it has another fault; so many are looked for.
_MOST_STOPPERS = 3


@dataclass(frozen=True)
class Judged:
    """``outcomes`` of the nodes, and each bad link with a sentence; ``cut``: those that carry nothing at all."""

    outcomes: Mapping[str, Outcome]
    links: Mapping[frozenset[str], str]
    cut: frozenset[frozenset[str]]


def judge_pairs(nodes: Sequence[str], pairs: Sequence[Pair], tolerance: float, started: Collection[str] = ()) -> Judged:
    """A node is bad with most of its partners; a bad pair of two good nodes is a link, of which nobody is accused.

    A pair whose time was over is bad where that speaks against it (:func:`_group_limit.evidence`), and else says
    nothing. ``started``: nodes whose ranks have started in an earlier stage.
    """
    present = [pair for pair in pairs if not pair.absent]
    speaks = evidence([pair.measured for pair in present], started)
    measured = {pair.nodes: pair for pair, bad in zip(present, speaks) if bad or not pair.late}
    late = {node: pair for pair in present if pair.late and pair.nodes not in measured for node in pair.nodes}
    best: dict[str, float] = {}
    for pair in measured.values():
        for node in pair.nodes if pair.busbw is not None else ():
            best[node] = max(best.get(node, 0.0), pair.busbw or 0.0)
    # Of four nodes one bad one is in half of all pairs, but it is one of four.
    expected = expected_rate(best.values())
    found = blame({edge: is_bad(pair.busbw, expected, tolerance) for edge, pair in measured.items()})
    links = {frozenset(edge): _told(measured[edge], expected) for edge in found.links}
    alone = {node: pair.why for pair in pairs for node in pair.absent}
    outcomes = {node: _outcome(node, found, links, measured, alone, best, expected) for node in nodes}
    untold = [node for node in late if node in outcomes and outcomes[node].state == UNKNOWN and node not in alone]
    outcomes |= {node: _of_late(late[node], outcomes[node]) for node in untold}
    cut = frozenset(frozenset(edge) for edge in found.links if measured[edge].busbw is None)
    return Judged(outcomes, links, cut)


def _outcome(
    node: str,
    found: Blame,
    links: Mapping[frozenset[str], str],
    measured: Mapping[tuple[str, str], Pair],
    alone: Mapping[str, str],
    best: Mapping[str, float],
    expected: float,
) -> Outcome:
    figures = {BUSBW: best[node]} if node in best else {}
    remarks = tuple(said for link, said in links.items() if node in link)
    if node in found.nodes:
        bad, of = found.nodes[node]
        worst = next(_told(pair, expected) for edge, pair in measured.items() if node in edge)
        return Outcome(FAILED, (f"{bad} of its {of} pairs are faulty: {worst}",), figures, ISOLATE)
    if node in alone:
        return Outcome(UNKNOWN, (f"its ranks did not start: {alone[node]}",), figures)
    mine = [edge for edge in measured if node in edge]
    if not mine:
        return Outcome(UNKNOWN, ("it was not in any pair that could be measured.",), figures)
    if all(frozenset(edge) in links for edge in mine):
        # With one partner alone nobody can tell whose fault it is.
        return Outcome(UNKNOWN, remarks, figures)
    return Outcome(PASSED, (), figures).watched(remarks)


def _of_late(pair: Pair, outcome: Outcome) -> Outcome:
    """Of a node that no pair has told about, and one has said nothing since its time was over."""
    said = f"the all-reduce over {' and '.join(pair.nodes)}: {pair.why}"
    return Outcome(UNKNOWN, (*outcome.remarks, said), outcome.figures, AGAIN)


def _told(pair: Pair, expected: float) -> str:
    names = " and ".join(pair.nodes)
    if pair.busbw is None:
        return f"the all-reduce over {names} failed: {pair.why}"
    return f"the all-reduce over {names} has {rounded(pair.busbw)} GB/s, and a good one has {rounded(expected)}."


@dataclass(frozen=True)
class RingFound:
    """``nodes`` in the order of their ranks, with the GB/s of an all-reduce over all of them; None: none ended well."""

    nodes: tuple[str, ...]
    busbw: float | None
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)


def measure_ring(
    nodes: Sequence[str], links: Mapping[frozenset[str], str], cut: Collection[frozenset[str]], over: Over
) -> RingFound:
    """The largest ring; a node with which it stops working is taken out of it.

    Slow links it goes round. Of two nodes with nothing between them a job can have one: it connects each with each.
    Where only time was over with a node, it is at fault if the ring without it ends in a small part of that time.
    """
    apart = without_cut(nodes, cut)
    ring = build_ring([node for node in nodes if node not in apart], links.keys())
    outcomes = {node: Outcome(UNKNOWN, (_apart(node, links, cut),)) for node in apart}
    outcomes |= {node: Outcome(UNKNOWN, (_NO_PLACE,)) for node in ring.left_out}
    left, why, again = list(ring.nodes), "", ""
    doubted: dict[str, GroupResult] = {}
    for _attempt in range(_MOST_STOPPERS):
        if len(left) < 2:
            break
        over.show(f"Ring of {len(left)} nodes.")
        (result,) = over.measure(RING_JOB, [tuple(left)])
        if not result.why:
            rate = bandwidth(result)
            passed = {node: Outcome(PASSED, (), {BUSBW: rate or 0.0} if node == left[0] else {}) for node in left}
            late = {node: _of_doubted(one, result.seconds) for node, one in doubted.items()}
            return RingFound(tuple(left), rate, {**outcomes, **late, **passed})
        why, again = result.why, AGAIN if result.late else ""
        if silent := [node for node in left if result.late and node in result.late.silent]:
            outcomes |= {node: Outcome(UNKNOWN, (why,), action=AGAIN) for node in silent}
            left = [node for node in left if node not in silent]
            continue
        stopper = _stopper(left, over)
        if not stopper:
            break
        if result.late:
            doubted[stopper] = result
        else:
            said = f"the all-reduce over the ring of {len(left)} nodes passes without it and fails with it: {why}"
            outcomes[stopper] = Outcome(FAILED, (said,), action=ISOLATE)
        left.remove(stopper)
    said = f"no ring with it could be measured: {why or 'it is alone'}"
    unknown = {node: Outcome(UNKNOWN, (said,), action=again) for node in (*left, *doubted)}
    return RingFound((), None, {**outcomes, **unknown})


def _stopper(ring: Sequence[str], over: Over) -> str:
    """The node with which it stops; empty where time was over and no part of the ring ended, so that no limit is known
    to be long enough."""
    asked: list[GroupResult] = []

    def works(some: tuple[str, ...]) -> bool:
        asked.extend(over.measure(RING_JOB, [some]))
        return not asked[-1].why

    stopper = who_stops_it(ring, works)
    return "" if asked and all(one.late for one in asked) else stopper


def _of_doubted(late: GroupResult, seconds: float | None) -> Outcome:
    """``seconds``: what the ring without the node took."""
    limit = late.late.seconds if late.late else 0.0
    if seconds is None or seconds > QUICK * limit:
        return Outcome(UNKNOWN, (f"the all-reduce over a ring with it: {late.why}",), action=AGAIN)
    said = f"the all-reduce over the ring ended in {rounded(seconds)} s without it, and failed with it: {late.why}"
    return Outcome(FAILED, (said,), action=ISOLATE)


def _apart(node: str, links: Mapping[frozenset[str], str], cut: Collection[frozenset[str]]) -> str:
    whys = " ".join(links[link] for link in cut if node in link)
    return f"excluded, because a job connects all nodes with each other: {whys}"
