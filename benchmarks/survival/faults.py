# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What happens to a job."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from benchmarks.survival.engines import Started

# For how long a node is frozen or cut off.
LASTS_S = 45.0
Act = Callable[[Sequence[Started], Collection[int]], None]


@dataclass(frozen=True)
class Fault:
    """``inject`` and ``mend`` get the nodes in their order, and all ranks. None is mended by itself after LASTS_S.

    ``index``: which of the nodes it happens to.
    """

    inject: Act
    mend: Act | None = None
    index: int = -1


def _kill_rank(nodes: Sequence[Started], ranks: Collection[int]) -> None:
    for pid in nodes[-1].node.pids() & set(ranks):
        _send(pid, signal.SIGKILL)


def _kill_agent(nodes: Sequence[Started], _ranks: Collection[int]) -> None:
    _send(nodes[-1].agent, signal.SIGKILL)


def _stop_agent(nodes: Sequence[Started], _ranks: Collection[int]) -> None:
    _send(nodes[-1].agent, signal.SIGSTOP)


def _kill_node(nodes: Sequence[Started], _ranks: Collection[int]) -> None:
    nodes[-1].node.signal_all(signal.SIGKILL, spared=nodes[-1].keeper)


def _freeze(nodes: Sequence[Started], _ranks: Collection[int]) -> None:
    """Its kernel goes on: it takes what comes for the processes."""
    nodes[-1].node.signal_all(signal.SIGSTOP)


def _thaw(nodes: Sequence[Started], _ranks: Collection[int]) -> None:
    nodes[-1].node.signal_all(signal.SIGCONT)


def _power_off(index: int) -> Act:
    def act(nodes: Sequence[Started], _ranks: Collection[int]) -> None:
        # First the link: the kernel would close the connections of what is killed.
        nodes[index].node.cut()
        nodes[index].node.signal_all(signal.SIGKILL)

    return act


def _cut(index: int) -> Act:
    return lambda nodes, _ranks: nodes[index].node.cut()


def _mend(index: int) -> Act:
    return lambda nodes, _ranks: nodes[index].node.mend()


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


FAULTS = {
    "rank-killed": Fault(_kill_rank),
    "agent-killed": Fault(_kill_agent),
    "node-killed": Fault(_kill_node),
    "power-loss": Fault(_power_off(-1)),
    "power-loss-first": Fault(_power_off(0), index=0),
    "frozen": Fault(_freeze, _thaw),
    "cut": Fault(_cut(-1), _mend(-1)),
    "cut-first": Fault(_cut(0), _mend(0), index=0),
    "agent-stopped": Fault(_stop_agent),
}
