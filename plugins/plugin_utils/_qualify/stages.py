# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The stages of a qualification, from a node alone to all of them, and what came of each; pure.

A node that fails a stage is in none that follows: it would only slow down or stop the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.results import (
    ACTIONS,
    FAILED,
    HEALTHY,
    INCONCLUSIVE,
    UNHEALTHY,
    UNKNOWN,
    WATCH,
)

SELF_TEST, COMPUTE, COLLECTIVES = "self_test", "compute", "collectives"
PAIRS, RING, TRAINING = "pairs", "ring", "training"
STAGES = (SELF_TEST, COMPUTE, COLLECTIVES, PAIRS, RING, TRAINING)


@dataclass(frozen=True)
class Outcome:
    """What came of one stage for one node: ``state``, sentences, and figures by name.

    ``action`` is one of ``ACTIONS`` where something is to be done; a node to be watched is not taken out. ``remarks``
    are sentences that make nothing fail.
    """

    state: str
    reasons: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    action: str = ""
    remarks: tuple[str, ...] = ()

    def watched(self, remarks: Sequence[str]) -> Outcome:
        """The same, with what is to be watched."""
        return replace(self, remarks=(*self.remarks, *remarks), action=self.action or WATCH) if remarks else self


@dataclass(frozen=True)
class NodeVerdict:
    """A node over all stages. ``cards``: PCI address -> figures by name."""

    state: str
    action: str
    reasons: tuple[str, ...]
    remarks: tuple[str, ...]
    stages: Mapping[str, Outcome]
    cards: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def node_verdict(stages: Mapping[str, Outcome], cards: Mapping[str, Mapping[str, float]]) -> NodeVerdict:
    """Healthy only where something was measured and nothing failed; one stage that failed makes it unhealthy."""
    outcomes = list(stages.values())
    failed = [one for one in outcomes if one.state == FAILED]
    unknown = [one for one in outcomes if one.state == UNKNOWN]
    well = HEALTHY if outcomes and not unknown else INCONCLUSIVE
    actions = [one.action for one in outcomes if one.action]
    return NodeVerdict(
        UNHEALTHY if failed else well,
        min(actions, key=ACTIONS.index) if actions else "",
        tuple(reason for one in failed + unknown for reason in one.reasons),
        tuple(remark for one in outcomes for remark in one.remarks),
        stages,
        cards,
    )
