# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""All stages one after the other, from each node alone to all of them; who fails one is in none that follows."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.results import FAILED, PASSED, UNKNOWN
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify import judgment, network, self_test, training
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.compute import compute
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.network import Over, Pair
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.pair_rounds import first_rounds
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.pairs import judge_pairs, measure_ring
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.stages import (
    COLLECTIVES,
    COMPUTE,
    PAIRS,
    RING,
    SELF_TEST,
    TRAINING,
    Outcome,
)


@dataclass(frozen=True)
class Wishes:
    """What is measured. ``own``: node -> the options of ``hpu_qualify``; ``own_seconds``: how long a node has for that,
    waited for with ``follow``. ``compute``: words of ``gaudi3_scale.compute``. ``pair_rounds`` as :class:`levels.Level`
    has it. ``tolerance``: the part below the median from which on something is slow."""

    stages: Sequence[str]
    own: Mapping[str, Mapping[str, Any]]
    own_seconds: float
    follow: bool
    compute: Sequence[str]
    pair_rounds: int
    tolerance: float
    text: Sequence[str]
    training_steps: int
    training_seconds: int


@dataclass
class Found:
    """What is known so far. ``stages``: node -> stage -> outcome; ``fit``: the nodes for the next stage, in order.

    ``seconds``: stage -> how long it took, for all nodes together.
    """

    fit: list[str]
    stages: dict[str, dict[str, Outcome]]
    seconds: dict[str, float] = field(default_factory=dict)
    since: float = field(default_factory=time.monotonic)
    release: str = ""
    generation: dict[str, str] = field(default_factory=dict)
    cards: dict[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    pairs: Sequence[Pair] = ()
    links: Mapping[frozenset[str], str] = field(default_factory=dict)
    cut: Collection[frozenset[str]] = ()
    ring: tuple[str, ...] = ()
    ring_busbw: float | None = None

    def started(self) -> set[str]:
        """The nodes whose ranks have started in a stage of their own."""
        return {
            node
            for node, stages in self.stages.items()
            for stage, outcome in stages.items()
            if stage in (COMPUTE, COLLECTIVES) and outcome.state == PASSED
        }

    def note(self, stage: str, outcomes: Mapping[str, Outcome], able: Collection[str] = ()) -> None:
        """Keep the outcomes of a stage; who did not pass it is in none that follows, but those of ``able``."""
        now = time.monotonic()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self.since
        self.since = now
        for node, outcome in outcomes.items():
            self.stages[node][stage] = outcome
        out = {
            node for node, one in outcomes.items() if one.state == FAILED or (one.state == UNKNOWN and node not in able)
        }
        self.fit = [node for node in self.fit if node not in out]


def qualify(nodes: Sequence[str], wishes: Wishes, over: Over) -> Found:
    """Measure as far as ``wishes`` say."""
    found = Found(list(nodes), {node: {} for node in nodes})
    if SELF_TEST in wishes.stages:
        _own(found, wishes, over)
        if not wishes.follow:
            return found
    if COMPUTE in wishes.stages and found.fit:
        computed = compute(found.fit, wishes.compute, over)
        found.cards = {node: one.cards for node, one in computed.items()}
        found.note(COMPUTE, judgment.compute_outcomes(computed, found.generation, wishes.tolerance))
    if COLLECTIVES in wishes.stages and found.fit:
        results = network.over_own_cards(found.fit, over)
        found.note(COLLECTIVES, judgment.collectives_outcomes(results, found.generation, wishes.tolerance))
    if {PAIRS, RING, TRAINING} & {*wishes.stages}:
        found.note(PAIRS, _of_one_generation(found))
    if PAIRS in wishes.stages and len(found.fit) > 1:
        found.pairs = network.over_pairs(first_rounds(found.fit, wishes.pair_rounds), over)
        judged = judge_pairs(found.fit, found.pairs, wishes.tolerance, found.started())
        found.links, found.cut = judged.links, judged.cut
        found.note(PAIRS, judged.outcomes)
    if RING in wishes.stages and len(found.fit) > 1:
        ring = measure_ring(found.fit, found.links, found.cut, over)
        found.ring, found.ring_busbw = ring.nodes, ring.busbw
        found.note(RING, ring.outcomes)
    if TRAINING in wishes.stages and found.fit:
        order = found.ring or tuple(found.fit)
        trained = training.train(order, wishes.text, wishes.training_steps, wishes.training_seconds, over)
        found.note(TRAINING, judgment.training_outcomes(order, trained))
    return found


def _own(found: Found, wishes: Wishes, over: Over) -> None:
    silent = self_test.begin(found.fit, wishes.own, over.ask)
    begun = [node for node in found.fit if node not in silent]
    seconds = wishes.own_seconds if wishes.follow else 0
    results = self_test.follow(begun, over.ask, over.show, seconds) if begun else {}
    results |= {node: self_test.Own(why=why) for node, why in silent.items()}
    for node, one in results.items():
        if one.answer:
            found.release, found.generation[node] = one.answer["release"], one.answer["generation"]
    # Where a test could not be run, as without hl_qual, the others still say something.
    able = {node for node, one in results.items() if not one.why and not one.is_running}
    found.note(SELF_TEST, judgment.own_outcomes({node: results[node] for node in found.fit}), able)


def _of_one_generation(found: Found) -> dict[str, Outcome]:
    """Node -> why it is not measured with the others, of those that have other cards than most."""
    kinds = {node: found.generation.get(node, "") for node in found.fit}
    if len(set(kinds.values())) < 2:
        return {}
    most = Counter(kinds.values()).most_common(1)[0][0]
    remedy = "one job cannot use both; qualify them separately with gaudi_qualify_hosts."
    return {
        node: Outcome(UNKNOWN, (f"its cards are {kind or 'unknown'}, and those of most nodes {most}: {remedy}",))
        for node, kind in kinds.items()
        if kind != most
    }
