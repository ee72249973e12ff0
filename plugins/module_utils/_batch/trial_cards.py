# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The cards of a trial: free ones, which jobs and other trials leave alone until it is over."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from .._cards.part import NodeCards, Wanted, choose, modules_text, refuse_taken
from .._errors import GaudiError
from .._job.binding.modules import VARIABLE, modules_by_device
from .._job.binding.topology import HPU
from .._job.cards_in_use import Asker, choosing, held, node_cards
from .._node.commands import Run
from .trial import Workload

# In place of ``processes_per_node`` of a job.
OPTION = "processes"
WHO = "a trial of a probe or comparison"


@contextmanager
def cards_for(
    workload: Workload, environment: Mapping[str, str], state_directory: str, run: Run, kernel_root: str
) -> Iterator[Mapping[str, str]]:
    """What to add to ``environment``, so that the ranks take the cards that are kept for them meanwhile.

    Raises GaudiError where others have them. On a node whose driver shows no cards nothing is kept.
    """
    if workload.device != HPU or not modules_by_device(kernel_root):
        yield {}
        return
    visible = environment.get(VARIABLE, "").strip()
    with ExitStack() as kept:
        with choosing(state_directory):
            asker = Asker(os.uname().nodename, state_directory=state_directory)
            cards = node_cards(asker, run, kernel_root)
            modules = _named(cards, workload.processes, visible) if visible else choose([cards], _wanted(workload))
            kept.enter_context(held(state_directory, modules, WHO))
        is_chosen = not visible and len(modules) < len(cards.modules)
        yield {VARIABLE: ",".join(map(str, modules))} if is_chosen else {}


def _wanted(workload: Workload) -> Wanted:
    return Wanted(workload.processes, OPTION)


def _named(cards: NodeCards, processes: int, visible: str) -> tuple[int, ...]:
    words = [word.strip() for word in visible.split(",")][:processes]
    strange = [word for word in words if not word.isdecimal() or int(word) not in cards.modules]
    if strange or len(words) < processes:
        what = f"names {strange[0]!r}" if strange else f"names {len(words)} module(s)"
        raise GaudiError(
            f"{OPTION} is {processes}, and {VARIABLE}={visible} {what}; {cards.host} has "
            f"{modules_text(cards.modules)}: name one of them for each rank, or remove it."
        )
    modules = tuple(map(int, words))
    refuse_taken(cards, modules, Wanted(processes, OPTION))
    return modules
