# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The second stage: each card multiplies and copies, checked bit by bit and timed, all nodes at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_jobs import Ended, Group, run_jobs
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_limit import Late
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import number, record, several, taken
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.network import Over

JOB = "qualify-compute"
_MOST_CARDS = 64
RATES = ("matmul_tflops", "copy_gb_per_s")
_LINE = record(
    {"last_metrics": record({"ranks": several(record(dict.fromkeys((*RATES, "wrong"), number)), _MOST_CARDS)})}
)


@dataclass(frozen=True)
class Computed:
    """``cards``: name -> its figures. ``wrong``: those that gave a wrong value. ``why`` it did not end well; ``late``
    and ``seconds`` as :class:`_group_jobs.Ended` has them."""

    cards: Mapping[str, Mapping[str, float]]
    wrong: tuple[str, ...] = ()
    why: str = ""
    absent: bool = False
    late: Late | None = None
    seconds: float | None = None


def compute(nodes: Sequence[str], arguments: Sequence[str], over: Over) -> dict[str, Computed]:
    """``arguments``: further words of ``gaudi3_scale.compute``."""
    over.show(f"Products and copies on every card of {len(nodes)} nodes at once.")
    ranks = over.wanted.ranks
    command = ["-m", "gaudi3_scale.compute", "--device", ranks.device, "--timeout", str(ranks.longest), *arguments]
    ended = run_jobs([Group(JOB, (node,)) for node in nodes], command, ranks, over.addresses, over.ask)
    return {node: _computed(node, one) for node, one in zip(nodes, ended)}


def _computed(node: str, ended: Ended) -> Computed:
    """A rank that computes wrongly has told its figures before it failed."""
    try:
        line = taken(node, "training_job_info", _LINE, ended.first)["last_metrics"]
    except GaudiError as error:
        return Computed({}, (), ended.why or str(error), bool(ended.absent), ended.late)
    cards = {card(rank): {name: figures[name] for name in RATES} for rank, figures in enumerate(line["ranks"])}
    wrong = tuple(card(rank) for rank, figures in enumerate(line["ranks"]) if figures["wrong"])
    return Computed(cards, wrong, ended.why, bool(ended.absent), ended.late, ended.seconds)


def card(rank: int) -> str:
    """A card as a rank knows it: torchrun gives rank N of a node the card of module N."""
    return f"module {rank}"
