# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What has to hold whatever happens: one history, and no old ranks beside new ones."""

from __future__ import annotations

from gaudi3_scale.supervisor.generation import RUN, Generation
from gaudi3_scale.supervisor.state import Rules
from gaudi3_scale.supervisor.succession import EARLY_PAUSE_S, MOST_EARLY_FAILURES

# So long after a frozen node wakes, ranks that the others have replaced may be there. They make no step.
WAKING_S = 2.5
# Clocks run apart, and whoever sees that a node stands by may have learned of the generation before its ranks began.
CLOCKS_S = 2.0


class History:
    """Of all nodes together. ``chain``: generations by number; ``started``: when the first ranks of each began.

    ``stepped``: the newest generation of which a rank has made a step. ``overlap``: seconds for which ranks of two
    generations were there, on frozen nodes and those that woke just before too.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.chain: dict[int, Generation] = {}
        self.started: dict[int, float] = {}
        self.stepped = -1
        self.overlap = 0.0
        self._seen: dict[int, Generation] = {}

    def learned(self, index: int, generation: Generation) -> bool:
        """A node holds this generation for the current one; whether nobody did before."""
        if self._seen.get(index) is generation:
            return False
        self._seen[index] = generation
        number = generation.number
        new = number not in self.chain
        known = self.chain.setdefault(number, generation)
        assert known == generation, f"two generations {number}: {known} and {generation}"
        if new:
            self._check(generation)
            self.check_runs()
        return new

    def began(self, number: int, now: float) -> None:
        """Ranks of a generation are there."""
        if number not in self.started:
            self.started[number] = now
            self.check_runs()

    def stepped_by(self, index: int, number: int) -> None:
        assert number >= self.stepped, f"ranks of generation {number} on n{index} step after those of {self.stepped}"
        self.stepped = number

    def check_alive(self, nodes, now: float, seconds: float) -> None:
        """``seconds`` after the last look."""
        alive = {node.index: node.tree.generation for node in nodes if node.tree is not None and node.tree.alive}
        if not alive:
            return
        newest = max(alive.values())
        old = [index for index, number in alive.items() if number < newest]
        if not old:
            return
        self.overlap += seconds
        for node in nodes:
            excused = node.frozen or now - node.woke <= WAKING_S
            assert node.index not in old or excused, (
                f"ranks of generation {alive[node.index]} on n{node.index} beside those of {newest}"
            )

    def _check(self, new: Generation) -> None:
        rules = self._rules
        assert new.restarts <= rules.max_restarts
        assert new.early_failures < MOST_EARLY_FAILURES
        assert new.kind != RUN or len(new.members) >= rules.min_nodes
        assert len(set(new.indexes)) == len(new.indexes)
        assert new.kind != RUN or rules.witness not in new.indexes

    def check_runs(self) -> None:
        runs = [self.chain[number] for number in sorted(self.chain) if self.chain[number].kind == RUN]
        for before, after in zip(runs, runs[1:]):
            if after.number != before.number + 1:
                continue
            if after.restarts == before.restarts:
                assert after.step is not None and after.step > (before.step or 0), "a free restart without progress"
            if before.number in self.started and after.number in self.started:
                self._check_pauses(before, after)
            kept = [index for index in before.indexes if index in after.indexes]
            assert [index for index in after.indexes if index in kept] == kept, "ranks changed their order"

    def _check_pauses(self, before: Generation, after: Generation) -> None:
        lasted = self.started[after.number] - self.started[before.number]
        if after.early_failures:
            assert after.early_failures == before.early_failures + 1, "an early failure is lost, or counted twice"
            assert lasted >= EARLY_PAUSE_S * 2 ** (after.early_failures - 1) - CLOCKS_S, "no pause after a failure"
        for index in set(after.grown[len(before.grown) :]):
            wanted = self._rules.grow_after * 2 ** before.grown.count(index)
            assert lasted >= wanted - CLOCKS_S, "a node is taken in too soon"
