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

A measurement whose time was over is no loss: it is asked again as a bad one is, but nobody is accused for it. Who has
no other ones is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Union

from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import rounded
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.blame import blame, expected_rate, is_bad
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.pair_rounds import rounds_of_pairs

Groups = Sequence[tuple[str, ...]]


class Told(Enum):
    """What a measurement says. ``NOTHING``: its time was over, and nothing shows that it should have been enough."""

    GOOD = "good"
    BAD = "bad"
    NOTHING = "nothing"


# GB/s of a group, None for one that did not end well.
Rate = Union[float, None, Told]
# Of each group. No node is in two groups.
Measure = Callable[[Groups], Sequence[Rate]]
# With fewer nodes there is no good pair beside a bad one.
_FEWEST = 4
_OVER = "its measurements had not ended when their time was over."


@dataclass
class Search:
    """What was asked and answered. ``evidence``: node -> its measurements, in words."""

    measure: Measure
    tolerance: float
    expected: float = 0.0
    questions: int = 0
    rounds: int = 0
    rates: dict[tuple[str, ...], Rate] = field(default_factory=dict)
    evidence: dict[str, list[str]] = field(default_factory=dict)

    def ask(self, groups: Groups) -> list[Told]:
        """What each says. Asked at once."""
        if not groups:
            return []
        self.rounds += 1
        self.questions += len(groups)
        rates = list(self.measure(groups))
        self.rates |= dict(zip(groups, rates))
        if not self.expected:
            self.expected = expected_rate(known(rates))
        found = [self.says(rate) for rate in rates]
        for group, rate, told in zip(groups, rates, found):
            for node in group if told is Told.BAD else ():
                others = " and ".join(other for other in group if other != node)
                said = f"{rounded(rate)} GB/s" if isinstance(rate, float) else "not at all"
                self.evidence.setdefault(node, []).append(f"with {others}: {said}")
        return found

    def says(self, rate: Rate) -> Told:
        if isinstance(rate, Told):
            return rate
        return Told.BAD if is_bad(rate, self.expected, self.tolerance) else Told.GOOD


def known(rates: Iterable[Rate]) -> list[float]:
    return [rate for rate in rates if isinstance(rate, float)]


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
    if expected and len(nodes) > 1 and search.ask([tuple(nodes)])[0] is Told.GOOD:
        return _found(search, [], [], {})
    if len(nodes) < _FEWEST:
        return _among_few(nodes, search)
    pairs = list(zip(nodes[::2], nodes[1::2]))
    bad_pairs = [pair for pair, told in zip(pairs, search.ask(pairs)) if told is not Told.GOOD]
    good = [node for pair in pairs if pair not in bad_pairs for node in pair]
    suspects = [node for pair in bad_pairs for node in pair] + list(nodes[2 * len(pairs) :])
    if not good:
        return _found(search, [], [], dict.fromkeys(nodes, "no two nodes worked well together."))
    met: dict[str, set[str]] = {node: set() for node in suspects}
    once = _with_good_partners(suspects, good, search, met)
    twice = _with_good_partners([node for node in suspects if once[node] is not Told.GOOD], good, search, met)
    accused = [node for node, told in twice.items() if once[node] is told is Told.BAD]
    silent = [node for node, told in twice.items() if told is not Told.GOOD and node not in accused]
    between = [pair for pair in bad_pairs if not {*pair} & {*accused, *silent}]
    again = [pair for pair, told in zip(between, search.ask(between)) if told is Told.BAD]
    return _found(search, accused, again, dict.fromkeys(silent, _OVER))


def _with_good_partners(
    suspects: Sequence[str], good: Sequence[str], search: Search, met: Mapping[str, set[str]]
) -> dict[str, Told]:
    """Suspect -> what is said of it and a good partner that it has not ``met``; as many at once as there are."""
    found: dict[str, Told] = {}
    waiting = list(suspects)
    while waiting:
        groups = _paired(waiting, good, met)
        found |= {suspect: told for (suspect, _partner), told in zip(groups, search.ask(groups))}
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
    search.expected = max(known(search.rates.values()))
    once = {pair: search.says(search.rates[pair]) for pair in pairs}
    again = {pair: told if told is Told.GOOD else search.ask([pair])[0] for pair, told in once.items()}
    blamed = blame({pair: told is Told.BAD for pair, told in again.items() if told is not Told.NOTHING})
    told = {node for pair, one in again.items() if one is not Told.NOTHING for node in pair}
    silent = [node for node in nodes if node not in told]
    return _found(search, list(blamed.nodes), list(blamed.links), dict.fromkeys(silent, _OVER))


def _found(
    search: Search, bad: Sequence[str], links: Sequence[tuple[str, str]], unknown: Mapping[str, str]
) -> Suspects:
    evidence = {node: search.evidence.get(node, []) for node in bad}
    return Suspects(evidence, links, unknown, search.questions, search.rounds, search.expected)
