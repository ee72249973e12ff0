# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which of several nodes are bad, in few measurements. Pure, but for the measuring it is given.

A measurement is a collective over a group, which is as fast as the slowest of it. Groups of a round share no node, and
run at the same time, so that the time is that of the rounds: three of them, whatever the number of nodes.

1. All nodes in pairs. Most are good, so the median is what a good pair has.
2. Each node of a bad pair with a partner from a good one.
3. Who is bad there too, once more with another such partner; and pairs whose nodes are both good, once more. Nobody is
   accused for one measurement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualification.blame import blame, expected_rate, is_bad
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualification.pair_rounds import rounds_of_pairs

Groups = Sequence[tuple[str, ...]]
# GB/s of each group, None for one that did not end well. No node is in two groups.
Measure = Callable[[Groups], Sequence["float | None"]]
# With fewer nodes there is no good pair beside a bad one.
_FEWEST = 4


@dataclass
class Search:
    """What was asked and answered. ``evidence``: node -> its measurements, in words."""

    measure: Measure
    tolerance: float
    expected: float = 0.0
    questions: int = 0
    rounds: int = 0
    rates: dict[tuple[str, ...], float | None] = field(default_factory=dict)
    evidence: dict[str, list[str]] = field(default_factory=dict)

    def ask(self, groups: Groups) -> list[bool]:
        """Whether each is bad. Asked at once."""
        if not groups:
            return []
        self.rounds += 1
        self.questions += len(groups)
        rates = list(self.measure(groups))
        self.rates |= dict(zip(groups, rates))
        if not self.expected:
            self.expected = expected_rate(rate for rate in rates if rate is not None)
        found = [is_bad(rate, self.expected, self.tolerance) for rate in rates]
        for group, rate, bad in zip(groups, rates, found):
            for node in group if bad else ():
                others = " and ".join(other for other in group if other != node)
                said = "not at all" if rate is None else f"{rate:.3g} GB/s"
                self.evidence.setdefault(node, []).append(f"with {others}: {said}")
        return found


@dataclass(frozen=True)
class Suspects:
    """``bad`` nodes with their measurements in words, ``links`` between nodes that work with others, and ``unknown``
    ones of which nobody could tell, with the reason. ``expected``: GB/s of a good pair."""

    bad: Mapping[str, Sequence[str]]
    links: Sequence[tuple[str, str]]
    unknown: Mapping[str, str]
    questions: int
    rounds: int
    expected: float


def find_bad(nodes: Sequence[str], measure: Measure, tolerance: float, expected: float = 0.0) -> Suspects:
    """``tolerance``: the part by which a bad group is slower. With ``expected`` GB/s all are asked together first, and
    where that is good, nothing else is asked.
    """
    search = Search(measure, tolerance, expected)
    if expected and len(nodes) > 1 and not search.ask([tuple(nodes)])[0]:
        return _found(search, [], [], {})
    if len(nodes) < _FEWEST:
        return _among_few(nodes, search)
    pairs = list(zip(nodes[::2], nodes[1::2]))
    bad_pairs = [pair for pair, bad in zip(pairs, search.ask(pairs)) if bad]
    good = [node for pair in pairs if pair not in bad_pairs for node in pair]
    suspects = [node for pair in bad_pairs for node in pair] + list(nodes[2 * len(pairs) :])
    if not good:
        return _found(search, [], [], dict.fromkeys(nodes, "no two nodes worked well together."))
    met: dict[str, set[str]] = {node: set() for node in suspects}
    once = _with_good_partners(suspects, good, search, met)
    twice = _with_good_partners([node for node in suspects if once[node]], good, search, met)
    accused = [node for node, bad in twice.items() if bad]
    between = [pair for pair in bad_pairs if not {*pair} & {*accused}]
    again = [pair for pair, bad in zip(between, search.ask(between)) if bad]
    return _found(search, accused, again, {})


def _with_good_partners(
    suspects: Sequence[str], good: Sequence[str], search: Search, met: Mapping[str, set[str]]
) -> dict[str, bool]:
    """Suspect -> whether it is bad with a good partner that it has not ``met``; as many at once as there are."""
    found: dict[str, bool] = {}
    waiting = list(suspects)
    while waiting:
        groups = _paired(waiting, good, met)
        found |= {suspect: bad for (suspect, _partner), bad in zip(groups, search.ask(groups))}
        waiting = [suspect for suspect in waiting if suspect not in found]
    return found


def _paired(waiting: Sequence[str], good: Sequence[str], met: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """Each with a partner that is free and new to it. Who has met all takes any."""
    free, groups = list(good), list[tuple[str, str]]()
    for suspect in waiting:
        new = [partner for partner in free if partner not in met[suspect]]
        partners = free if met[suspect] >= {*good} else new
        if partners:
            groups.append((suspect, partners[0]))
            met[suspect].add(partners[0])
            free.remove(partners[0])
    return groups


def _among_few(nodes: Sequence[str], search: Search) -> Suspects:
    """Every two of them, twice where that was bad; one of two cannot be told from the other."""
    if len(nodes) < 2:
        return _found(search, [], [], dict.fromkeys(nodes, "there is no other node to measure it with."))
    pairs = [pair for some in rounds_of_pairs(nodes) for pair in some]
    for pair in pairs:
        search.ask([pair])
    if not search.expected:
        return _found(search, [], [], dict.fromkeys(nodes, "no two nodes worked well together."))
    # The fastest: of three pairs, two are bad by one bad node.
    search.expected = max(rate for rate in search.rates.values() if rate is not None)
    bad = {pair: is_bad(search.rates[pair], search.expected, search.tolerance) for pair in pairs}
    again = {pair: found and search.ask([pair])[0] for pair, found in bad.items()}
    blamed = blame(again)
    return _found(search, list(blamed.nodes), list(blamed.links), {})


def _found(
    search: Search, bad: Sequence[str], links: Sequence[tuple[str, str]], unknown: Mapping[str, str]
) -> Suspects:
    evidence = {node: search.evidence.get(node, []) for node in bad}
    return Suspects(evidence, links, unknown, search.questions, search.rounds, search.expected)
