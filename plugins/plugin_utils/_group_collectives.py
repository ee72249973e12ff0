# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A collective over each of several groups of nodes, all groups at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_jobs import Ended, Group, Ranks, run_jobs
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_limit import Late, Measured
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import number, record, several, taken, whole
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import Ask

_MOST_SIZES = 64
SIZE = record({"bytes": whole(1), "seconds": number, "busbw_gb_per_s": number})
# The lines of gaudi3_scale.collectives. A rank that got a wrong value has failed.
_LINES = several(SIZE, _MOST_SIZES)


@dataclass(frozen=True)
class Collectives:
    """What each group runs: ``collective`` at ``sizes`` in bytes, for about ``seconds`` each (0: the program's)."""

    sizes: Sequence[int]
    ranks: Ranks
    collective: str = "all_reduce"
    seconds: float = 0.0

    @property
    def command(self) -> list[str]:
        what = ["--collectives", self.collective, "--bytes", *map(str, self.sizes)]
        seconds = ["--seconds", str(self.seconds)] if self.seconds else []
        # A rank's own patience with the others is not to be over before theirs is who wait for all.
        patience = ["--timeout", str(self.ranks.longest)]
        return ["-m", "gaudi3_scale.collectives", "--device", self.ranks.device, *patience, *what, *seconds]


@dataclass(frozen=True)
class GroupResult:
    """``lines``: for each size ``bytes``, ``seconds``, ``busbw_gb_per_s``, ascending; else ``why`` there are none.

    ``absent``: the nodes whose ranks did not start; ``late``: its time was over, as :class:`_group_jobs.Ended` has it;
    ``seconds`` that it took.
    """

    lines: Sequence[Mapping[str, Any]] = ()
    why: str = ""
    absent: tuple[str, ...] = ()
    late: Late | None = None
    seconds: float | None = None

    def measured(self, nodes: tuple[str, ...]) -> Measured:
        """As it is held against others."""
        return Measured(nodes, self.seconds, self.late)


def sizes_refusal(sizes: Sequence[int]) -> str:
    """One sentence for sizes that mean nothing; else empty."""
    if sizes and min(sizes) >= 4 and sizes == sorted(set(sizes)):
        return ""
    return f"sizes is {sizes}; give bytes, ascending, each at least 4."


def run_groups(
    groups: Sequence[Group], wanted: Collectives, addresses: Mapping[str, str], ask: Ask
) -> list[GroupResult]:
    """One result for each group, in their order. No node is in two groups; ``addresses``: node -> its address."""
    ended = run_jobs(groups, wanted.command, wanted.ranks, addresses, ask)
    return [_result(group, one, len(wanted.sizes)) for group, one in zip(groups, ended)]


def _result(group: Group, ended: Ended, sizes: int) -> GroupResult:
    if ended.why:
        return GroupResult((), ended.why, ended.absent, ended.late)
    first = group.nodes[0]
    try:
        lines = taken(first, "training_job_info", _LINES, ended.first["metrics"])
    except GaudiError as error:
        return GroupResult(why=str(error))
    if len(lines) < sizes:
        return GroupResult(why=f"rank 0 on {first} told {len(lines)} of {sizes} sizes; see its log.")
    return GroupResult(sorted(lines, key=lambda line: int(line["bytes"])), seconds=ended.seconds)
