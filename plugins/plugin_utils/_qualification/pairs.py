# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What pairs and the ring mean for each node. Pure, but for the ring's measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ansible_collections.gaudi3.scale.plugins.module_utils._qualification.results import (
    FAILED,
    ISOLATE,
    PASSED,
    UNKNOWN,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualification.blame import (
    Blame,
    blame,
    expected_rate,
    is_bad,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualification.judgement import BUSBW
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualification.network import RING_JOB, Over, Pair, bandwidth
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualification.ring import build_ring, who_stops_it
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualification.stages import Outcome

# A ring that stops again without the node that stopped it has another fault; so many are looked for.
_MOST_STOPPERS = 3


@dataclass(frozen=True)
class Judged:
    """``outcomes`` of the nodes, and each bad link with a sentence. ``expected``: GB/s of a good pair."""

    outcomes: Mapping[str, Outcome]
    links: Mapping[frozenset[str], str]
    expected: float


def judge_pairs(nodes: Sequence[str], pairs: Sequence[Pair], tolerance: float) -> Judged:
    """A node is bad with most of its partners; a bad pair of two good nodes is a link, of which nobody is accused."""
    measured = {pair.nodes: pair for pair in pairs if not pair.absent}
    expected = expected_rate(pair.busbw for pair in measured.values() if pair.busbw is not None)
    found = blame({edge: is_bad(pair.busbw, expected, tolerance) for edge, pair in measured.items()})
    links = {frozenset(edge): _told(measured[edge], expected) for edge in found.links}
    rates: dict[str, list[float]] = {}
    for pair in measured.values():
        for node in pair.nodes if pair.busbw is not None else ():
            rates.setdefault(node, []).append(pair.busbw or 0.0)
    alone = {node: pair.why for pair in pairs for node in pair.absent}
    outcomes = {node: _outcome(node, found, links, measured, alone, rates, expected) for node in nodes}
    return Judged(outcomes, links, expected)


def _outcome(
    node: str,
    found: Blame,
    links: Mapping[frozenset[str], str],
    measured: Mapping[tuple[str, str], Pair],
    alone: Mapping[str, str],
    rates: Mapping[str, Sequence[float]],
    expected: float,
) -> Outcome:
    figures = {BUSBW: max(rates[node])} if node in rates else {}
    remarks = tuple(said for link, said in links.items() if node in link)
    if node in found.nodes:
        bad, of = found.nodes[node]
        worst = next(_told(pair, expected) for edge, pair in measured.items() if node in edge)
        return Outcome(FAILED, (f"{bad} of its {of} pairs are bad: {worst}",), figures, ISOLATE)
    if node in alone:
        return Outcome(UNKNOWN, (f"its ranks did not start: {alone[node]}",), figures)
    mine = [edge for edge in measured if node in edge]
    if not mine:
        return Outcome(UNKNOWN, ("it was in no pair that could be measured.",), figures)
    if all(frozenset(edge) in links for edge in mine):
        # With one partner alone nobody can tell whose fault it is.
        return Outcome(UNKNOWN, remarks, figures)
    return Outcome(PASSED, (), figures).watched(remarks)


def _told(pair: Pair, expected: float) -> str:
    names = " and ".join(pair.nodes)
    if pair.busbw is None:
        return f"the all-reduce over {names} did not end well: {pair.why}"
    return f"the all-reduce over {names} has {pair.busbw:.3g} GB/s, and the median is {expected:.3g}."


@dataclass(frozen=True)
class RingFound:
    """``nodes`` in the order of their ranks, with the GB/s of an all-reduce over all of them; None: none ended well."""

    nodes: tuple[str, ...]
    busbw: float | None
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)


def measure_ring(nodes: Sequence[str], links: Mapping[frozenset[str], str], over: Over) -> RingFound:
    """The largest ring; a node with which it stops working is taken out of it."""
    ring = build_ring(nodes, links.keys())
    outcomes = {
        node: Outcome(UNKNOWN, ("its bad links leave it no place in a ring; see the pairs.",)) for node in ring.left_out
    }
    left, why = list(ring.nodes), ""
    for _attempt in range(_MOST_STOPPERS):
        if len(left) < 2:
            break
        over.show(f"Ring of {len(left)} nodes.")
        (result,) = over.measure(RING_JOB, [tuple(left)])
        if not result.why:
            rate = bandwidth(result)
            passed = {node: Outcome(PASSED, (), {BUSBW: rate or 0.0} if node == left[0] else {}) for node in left}
            return RingFound(tuple(left), rate, {**outcomes, **passed})
        why = result.why
        stopper = who_stops_it(left, lambda some: not over.measure(RING_JOB, [some])[0].why)
        said = f"the all-reduce over the ring of {len(left)} nodes ends well without it, and not with it: {why}"
        outcomes[stopper] = Outcome(FAILED, (said,), action=ISOLATE)
        left.remove(stopper)
    unknown = {node: Outcome(UNKNOWN, (f"no ring with it could be measured: {why or 'it is alone'}",)) for node in left}
    return RingFound((), None, {**outcomes, **unknown})
