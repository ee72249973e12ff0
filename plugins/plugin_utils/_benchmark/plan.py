# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which runs a benchmark makes, and in which order; pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.steady import FEWEST_LINES
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.workloads import Workload

# Of one run there is no interval, and so no figure.
FEWEST_REPEATS = 2
# Metric lines of a run after its warm-up: each is the mean over its steps, and costs a card a wait.
_LINES = 20


@dataclass(frozen=True)
class Case:
    """One row of the result: a workload with a batch size per rank, on the first ``nodes`` of the hosts."""

    workload: Workload
    batch_size: int
    nodes: int

    @property
    def label(self) -> str:
        return f"{self.workload.name}, batch {self.batch_size}, {self.nodes} node{'s' if self.nodes > 1 else ''}"


@dataclass(frozen=True)
class Plan:
    """``spread``: as :func:`steady.steady_state` has it. ``processes`` are the ranks of a node."""

    cases: Sequence[Case]
    repeats: int = 5
    steps: int = 100
    warm_up: int = 10
    spread: float = 0.1
    confidence: float = 0.95
    processes: int = 8
    device: str = "hpu"

    @property
    def line_every(self) -> int:
        """Steps of a metric line."""
        return max(1, (self.steps - self.warm_up) // _LINES)

    def order(self, repeat: int) -> list[Case]:
        """Another one in each repetition, so that nobody is always first, and the same in every benchmark."""
        cases = list(self.cases)
        random.Random(repeat).shuffle(cases)
        return cases


def cases_of(workloads: Sequence[Workload], nodes: Sequence[int], hosts: int) -> list[Case]:
    """Every workload with each of its batch sizes on each number of nodes; raises GaudiError."""
    counts = sorted(dict.fromkeys(nodes))
    if not counts or counts[0] < 1:
        raise GaudiError(f"nodes is {', '.join(map(str, nodes)) or 'empty'}; give numbers of nodes of at least 1.")
    if counts[-1] > hosts:
        raise GaudiError(f"nodes has {counts[-1]}, and hosts has {hosts}; give at most as many nodes, or more hosts.")
    return [Case(one, size, count) for one in workloads for size in one.batch_sizes for count in counts]


def check(plan: Plan) -> None:
    """Raises GaudiError for what cannot be meant, and for a benchmark that would have no figure in the end."""
    if plan.repeats < FEWEST_REPEATS:
        raise GaudiError(
            f"repeats is {plan.repeats}; give at least {FEWEST_REPEATS}, because one run shows no spread and is no "
            "figure."
        )
    if plan.warm_up < 1:
        raise GaudiError(f"warm_up is {plan.warm_up}; give at least 1, because the first step starts everything up.")
    least = plan.warm_up + 2 * FEWEST_LINES
    if plan.steps < least:
        raise GaudiError(f"steps is {plan.steps} with a warm_up of {plan.warm_up}; give at least {least}.")
    if plan.processes < 1:
        raise GaudiError(f"processes_per_node is {plan.processes}; give at least 1.")
    for option, part in (("spread", plan.spread), ("confidence", plan.confidence)):
        if not 0 < part < 1:
            raise GaudiError(f"{option} is {part:g}; give a fraction above 0 and below 1.")
