# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A job with more ranks on a node than a top board joins cards: what it needs between the groups, and in which order.

On a server with eight HL-288E two boards join four cards each, and the cards have no ports for other nodes. What goes
between the groups takes a network card of the host, and without one the processors' own link, which is slow (manual of
HL-288E for 1.23.0: HabanaAI/vllm-fork, pull request 2222). With ranks in another order than the module ids, HCCL fails
from five ranks on (vllm-project/vllm-gaudi#788, #926).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._cards.accel_sysfs import pci_cards
from .._cards.hardware import Board
from .._cards.part import grouped_board
from .._errors import GaudiError
from .._fabric.sysfs import HostNic, host_nics
from .._job.binding.topology import HPU, VISIBLE
from .._job.plan import Job, visible_modules

MODULES = VISIBLE[HPU]


def group_remarks(job: Job, settings: Mapping[str, str], kernel_root: str = "/") -> list[str]:
    """What such a job is told on this node; raises GaudiError for an order of modules with which it would fail.

    ``settings`` are the variables of the job's environment files.
    """
    board = grouped_board(pci_cards(kernel_root)) if job.device == HPU and not job.is_witness else None
    if board is None or job.processes_per_node <= board.group:
        return []
    modules = visible_modules(job, settings)
    refuse_order(modules, board, job.processes_per_node, job.host)
    return [remark(board, job.processes_per_node, host_nics(kernel_root))]


def refuse_order(modules: str, board: Board, ranks: int, host: str) -> None:
    """Raises GaudiError where the ranks of a group are not together, in the order of the module ids."""
    words = [word.strip() for word in modules.split(",") if word.strip()]
    taken = [int(word) for word in words[:ranks] if word.isdecimal()]
    if taken != sorted(taken):
        right = ",".join(map(str, sorted(taken)))
        raise GaudiError(
            f"{host} cannot take part: {MODULES}={modules} gives its {ranks} ranks {board.label} cards out of "
            f"the order of their module ids, and between groups of {board.group} HCCL then fails; "
            f"give {right}, or remove it."
        )


def remark(board: Board, ranks: int, nics: Sequence[HostNic]) -> str:
    """Pure: the sentence."""
    linked = [nic.device for nic in nics if nic.link]
    network = f"of which {', '.join(linked)} has a link" if linked else "of which none has a link here"
    return (
        f"{board.label} cards are joined in groups of {board.group} by their boards, and {ranks} ranks are in more "
        f"than one: traffic between the groups takes a network card of the host ({network}), else the processors' "
        f"own link, which is slow; keep the ranks in the order of the module ids ({MODULES} ascending, or not set), or "
        f"give a job {board.group} ranks on a node."
    )
