# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A scripted failure: how each rank of a job ended and what it had written, and what an operator should read first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# What started the ranks: torchrun below supervisors, torchrun alone (as Slurm's tasks do), or mpirun.
SUPERVISED, TORCHRUN, MPIRUN = "supervised", "torchrun", "mpirun"


@dataclass(frozen=True)
class Death:
    """``after``: seconds from the first death. ``told``: its agent ended it. ``error``: the text of its error.json."""

    code: int
    stderr: str = ""
    stdout: str = ""
    error: str = ""
    after: float = 0.0
    told: bool = False


@dataclass(frozen=True)
class Expected:
    """Rank -1: the node, or its agent. ``says``: how the reason begins; ``also``: what else has to be said of it."""

    rank: int
    kind: str
    says: str
    frame: str = ""
    row: str = ""
    also: str = ""
    node: str = ""


@dataclass(frozen=True)
class Case:
    """``deaths`` by rank; ranks that are missing follow the first as ``follow`` says (see ``words.FOLLOW``).

    ``skew``: seconds by which a node's clock is ahead. ``kernel``: what the kernel of the first rank's node said;
    ``launcher``: what mpirun or Slurm said; ``silent``: nodes whose agent was ended before its table. ``repeated``:
    bytes of output in front of the first rank's log.
    """

    name: str
    deaths: Mapping[int, Death]
    expected: Expected
    engine: str = SUPERVISED
    follow: str = "closed"
    nodes: int = 2
    per_node: int = 2
    skew: Mapping[str, float] = field(default_factory=dict)
    kernel: str = ""
    launcher: str = ""
    silent: tuple[str, ...] = ()
    repeated: int = 0

    def node_of(self, rank: int) -> str:
        return f"node{rank // self.per_node + 1}"
