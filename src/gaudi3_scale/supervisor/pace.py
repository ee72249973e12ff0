# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the ranks get on: no step for too long (a hang), and nodes that are slower than the others."""

from __future__ import annotations

from statistics import median
from typing import Mapping

from gaudi3_scale.supervisor.members import Standing, all_run
from gaudi3_scale.supervisor.messages import HANG, Interruption
from gaudi3_scale.supervisor.state import Rules, State

# A median needs somebody to compare with.
FEWEST_RANKS = 3
# A node is called slow once it has been so for a while: one slow step is nothing.
SLOW_FOR_S = 30.0


def hang(state: State, rules: Rules, view: Standing, reports: bool, now: float) -> Interruption | None:
    """The interruption of ranks of which none has made a step for too long.

    Of a program that has told nothing so far (``reports``: here, now) nobody knows whether it ever makes a step.
    """
    members = state.committed.members
    if not rules.hang_timeout or not all_run(state.committed, view):
        return None
    ages = [view.step_age(index) for index, _one in members]
    known = [age for age in ages if age is not None]
    tells = reports or rules.reports_steps or state.committed.step is not None
    limit = rules.hang_timeout if known else rules.start_timeout if tells else 0.0
    age = min(known) if known else now - state.changed
    if not limit or age <= limit:
        return None
    behind = ranks_behind(state, rules, view)
    said = f"no step for {limit:.0f} s" if known else f"no first step within {limit:.0f} s"
    first = next(iter(behind), None)
    index = rules.index if first is None else state.committed.indexes[first // rules.processes_per_node]
    return Interruption(state.committed.number, HANG, index, said + (_named(state, rules, behind) if known else ""))


def ranks_behind(state: State, rules: Rules, view: Standing) -> dict[int, int | None]:
    """Step by rank of those that have made fewer steps than others; empty where all are equal."""
    steps: dict[int, int | None] = {}
    for node_rank, (index, _one) in enumerate(state.committed.members):
        reported = view.messages[index].report.steps
        for local in range(rules.processes_per_node):
            steps[node_rank * rules.processes_per_node + local] = reported[local] if local < len(reported) else None
    most = max((step for step in steps.values() if step is not None), default=None)
    behind = {rank: step for rank, step in steps.items() if step != most}
    return behind if most is not None else {}


def _named(state: State, rules: Rules, behind: Mapping[int, int | None]) -> str:
    if not behind:
        return "; all ranks are at the same step"
    words = [
        f"rank {rank} on {rules.names[state.committed.indexes[rank // rules.processes_per_node]]} "
        + ("made none" if step is None else f"is at step {step}")
        for rank, step in list(behind.items())[:4]
    ]
    more = f" and {len(behind) - 4} more ranks are behind" if len(behind) > 4 else ""
    return f"; {', '.join(words)}{more}"


def slow_nodes(state: State, rules: Rules, view: Standing, now: float) -> dict[int, float]:
    """By index, since when a node's slowest rank has needed longer for its own work than straggler_ratio medians."""
    worst: dict[int, float] = {}
    every: list[float] = []
    for index, _one in state.committed.members:
        message = view.messages.get(index)
        values = [value for value in message.report.busy if value is not None] if message else []
        every += values
        if values:
            worst[index] = max(values)
    if not rules.straggler_ratio or len(every) < FEWEST_RANKS or len(worst) < 2:
        return {}
    limit = rules.straggler_ratio * median(every)
    return {index: state.slow.get(index, now) for index, value in worst.items() if value > limit}


def stragglers(state: State, now: float) -> tuple[int, ...]:
    """The nodes that have been slow for long enough to be named."""
    return tuple(index for index, since in state.slow.items() if now - since >= SLOW_FOR_S)
