# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The network's stages: an all-reduce over each node's own cards, over pairs of nodes in rounds, and over a ring.

All groups of a round run at the same time, so that a round takes as long as its slowest group, whatever the number of
nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import rounded
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_collectives import (
    Collectives,
    GroupResult,
    run_groups,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_jobs import Group
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_limit import Late, Measured
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import Ask

OWN_JOB, PAIR_JOB, RING_JOB = "qualify-node", "qualify-pair", "qualify-ring"
# With so many partners in vain a node is asked no more: each would wait for it in vain until the time is over.
_GIVEN_UP = 2


@dataclass(frozen=True)
class Over:
    """How groups are measured, and who is asked."""

    wanted: Collectives
    addresses: Mapping[str, str]
    ask: Ask
    show: Callable[[str], None]

    def measure(self, job: str, groups: Sequence[tuple[str, ...]]) -> list[GroupResult]:
        """One result for each group, all at the same time."""
        asked = [Group(job, nodes) for nodes in groups]
        return run_groups(asked, self.wanted, self.addresses, self.ask) if asked else []


@dataclass(frozen=True)
class Pair:
    """Two nodes and what the all-reduce over them gave in GB/s of bus bandwidth at the largest size; None and ``why``
    where it did not end well. ``absent``: those whose ranks did not start; ``late`` and ``seconds`` as
    :class:`_group_collectives.GroupResult` has them."""

    nodes: tuple[str, str]
    busbw: float | None
    why: str = ""
    absent: tuple[str, ...] = ()
    round: int = 0
    late: Late | None = None
    seconds: float | None = None

    @property
    def measured(self) -> Measured:
        """As it is held against others."""
        return Measured(self.nodes, self.seconds, self.late)


def bandwidth(result: GroupResult) -> float | None:
    """GB/s of bus bandwidth at the largest size; None where there are no figures."""
    return float(result.lines[-1]["busbw_gb_per_s"]) if result.lines else None


def over_own_cards(nodes: Sequence[str], over: Over) -> dict[str, GroupResult]:
    """All nodes at once, each alone."""
    over.show(f"All-reduce over each node's own ranks: {len(nodes)} nodes at once.")
    return dict(zip(nodes, over.measure(OWN_JOB, [(node,) for node in nodes])))


def over_pairs(rounds: Sequence[Sequence[tuple[str, str]]], over: Over) -> list[Pair]:
    """Round after round. A node that no partner of several could measure is asked no more.

    Pairs whose time was over, and whose nodes both ended well with others, are measured once more when nothing else is.
    """
    found: list[Pair] = []
    for number, pairs in enumerate(rounds, start=1):
        given_up = _given_up(found)
        found += _round(number, f"{number} of {len(rounds)}", [one for one in pairs if not given_up & {*one}], over)
    work = {node for pair in found if pair.busbw is not None for node in pair.nodes}
    late = [pair.nodes for pair in found if pair.late and {*pair.nodes} <= work]
    last = len(rounds)
    while late:
        once = _without_common_nodes(late)
        late = [pair for pair in late if pair not in once]
        last += 1
        found = [pair for pair in found if pair.nodes not in once] + _round(last, "repeated for late pairs", once, over)
    return found


def _round(number: int, name: str, pairs: Sequence[tuple[str, str]], over: Over) -> list[Pair]:
    results = over.measure(PAIR_JOB, pairs)
    new = [
        Pair(pair, bandwidth(one), one.why, one.absent, number, one.late, one.seconds)
        for pair, one in zip(pairs, results)
    ]
    over.show(f"Pairs, round {name}: {told(pairs, [pair.busbw for pair in new])}.")
    return new


def _without_common_nodes(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    taken: set[str] = set()
    chosen = []
    for pair in pairs:
        if not taken & {*pair}:
            chosen.append(pair)
            taken |= {*pair}
    return chosen


def _given_up(found: Sequence[Pair]) -> set[str]:
    tried: dict[str, list[bool]] = {}
    for pair in found:
        for node in pair.nodes:
            tried.setdefault(node, []).append(pair.busbw is not None)
    return {node for node, worked in tried.items() if len(worked) >= _GIVEN_UP and not any(worked)}


def told(groups: Sequence[tuple[str, ...]], rates: Sequence[float | None]) -> str:
    """A round in a few words: the span of its figures, and who has none."""
    known = sorted(rate for rate in rates if rate is not None)
    failed = [" and ".join(group) for group, rate in zip(groups, rates) if rate is None]
    span = f"{len(known)} measured, {_range(known)} GB/s" if known else "none measured"
    return span + (f"; not measured: {', '.join(failed)}" if failed else "")


def _range(rates: Sequence[float]) -> str:
    ends = dict.fromkeys(rounded(rate) for rate in (rates[0], rates[-1]))
    return " to ".join(ends)


def as_json(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """The pairs as the report keeps them."""
    return [
        {
            "nodes": list(pair.nodes),
            "busbw_gb_per_s": pair.busbw,
            "why": pair.why,
            "round": pair.round,
            "late": pair.late is not None,
        }
        for pair in pairs
    ]
