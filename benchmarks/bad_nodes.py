# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How many measurements it takes to find bad nodes, and in how many rounds, against what people do without it.

    .venv/bin/python -m benchmarks.bad_nodes

Fleets are simulated: a group is as fast as its slowest node, with 3 % of noise, and a bad node has half of the rate.
All ways get the same fleets. ``bisection`` is by hand: one group at a time, halved as long as it is slow. ``all pairs``
is what health screens do, n - 1 rounds of them at once. Prints the median over some fleets.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / ".collections"))

from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.bad_nodes import Groups, find_bad
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.blame import blame, expected_rate, is_bad
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.pair_rounds import rounds_of_pairs

GOOD, BAD, NOISE, TOLERANCE = 100.0, 50.0, 0.03, 0.15
# Who is found, and how many measurements and rounds it took.
Found = tuple[set[str], int, int]


class Fleet:
    """Nodes of which some are bad."""

    def __init__(self, count: int, faults: int, seed: int) -> None:
        draw = random.Random(seed)
        self.nodes = [f"n{number}" for number in range(count)]
        self.bad = set(draw.sample(self.nodes, faults))
        self._random = random.Random(seed + 1)

    def measure(self, groups: Groups) -> Sequence[float | None]:
        return [self.rate(group) for group in groups]

    def rate(self, group: Sequence[str]) -> float:
        return (BAD if self.bad & {*group} else GOOD) * (1 + self._random.gauss(0, NOISE))


def finder(fleet: Fleet) -> Found:
    found = find_bad(fleet.nodes, fleet.measure, TOLERANCE)
    return {*found.bad}, found.questions, found.rounds


def bisection(fleet: Fleet) -> Found:
    """Who bisects knows what a good group has, and measures a node of a slow pair with one that was good."""
    asked = 0
    bad: set[str] = set()
    good: list[str] = []
    waiting = [fleet.nodes]
    while waiting:
        group = waiting.pop()
        partner = [] if len(group) > 1 else [node for node in good or fleet.nodes if node not in group][:1]
        asked += 1
        if not is_bad(fleet.rate([*group, *partner]), GOOD, TOLERANCE):
            good += group
        elif len(group) == 1:
            bad |= {*group}
        else:
            waiting += [group[: len(group) // 2], group[len(group) // 2 :]]
    return bad, asked, asked


def all_pairs(fleet: Fleet) -> Found:
    rounds = rounds_of_pairs(fleet.nodes)
    rates = {pair: fleet.rate(pair) for pairs in rounds for pair in pairs}
    best = {node: max(rate for pair, rate in rates.items() if node in pair) for node in fleet.nodes}
    expected = expected_rate(best.values())
    found = blame({pair: is_bad(rate, expected, TOLERANCE) for pair, rate in rates.items()})
    return {*found.nodes}, len(rates), len(rounds)


def main() -> int:
    """Print the table; returns how many fleets the finder did not get right."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--fleets", type=int, default=25, metavar="N", help="fleets of each kind")
    fleets = options.parse_args().fleets
    print(
        f"{'nodes':>5} {'bad':>4}   {'finder':>16} {'bisection by hand':>19} {'all pairs':>16}   (measurements, rounds)"
    )
    wrong = 0
    for count in (8, 32, 64, 512):
        for faults in (0, 1, 2, 4):
            if faults > count / 4:
                continue
            cells = []
            for way in (finder, bisection, all_pairs) if count <= 64 else (finder, bisection):
                found, right = median_of(way, count, faults, fleets)
                wrong += right if way is finder else 0
                cells.append(found)
            pairs = f"{count * (count - 1) // 2}, {count - 1}"
            print(f"{count:5} {faults:4}   {cells[0]:>16} {cells[1]:>19} {(cells[2] if count <= 64 else pairs):>16}")
    print(f"fleets in which the finder named another node, or missed one: {wrong}")
    return wrong


def median_of(way: Callable[[Fleet], Found], count: int, faults: int, fleets: int) -> tuple[str, int]:
    """``measurements, rounds``, and in how many fleets it was wrong."""
    results = [(way(fleet), fleet.bad) for fleet in (Fleet(count, faults, seed) for seed in range(fleets))]
    asked = statistics.median(found[1] for found, _bad in results)
    rounds = statistics.median(found[2] for found, _bad in results)
    return f"{asked:g}, {rounds:g}", sum(found[0] != bad for found, bad in results)


if __name__ == "__main__":
    sys.exit(main())
