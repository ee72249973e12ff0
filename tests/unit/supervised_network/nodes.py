# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes, with what is on them: the kernel's buffer, the disk, a clock, a supervisor and the ranks of a generation."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.unit.supervised_network.core import Supervisor

# What a stock receive buffer of 208 KiB holds of them.
BUFFERED = 185


@dataclass
class Tree:
    """The ranks of a generation on one node; times are the simulation's.

    ``asked_to_end``: when they were, ``polite``: how long they take for that unless they are killed before;
    ``ends``: when they are gone. ``hurt``: when they fail since they have lost a peer.
    """

    generation: int
    members: tuple
    alive: bool = True
    died: float | None = None
    echo: int = 0
    succeeded: bool = False
    step: int | None = None
    stepped: float = 0.0
    asked_to_end: float | None = None
    polite: float = 0.0
    ends: float | None = None
    hurt: float | None = None

    def end(self, grace: float, now: float, takes: float) -> None:
        """SIGTERM; SIGKILL after ``grace``, of which the shortest that was ordered counts."""
        if self.asked_to_end is None:
            self.asked_to_end, self.polite, self.ends = now, takes, now + min(takes, grace)
        self.ends = min(self.ends, now + grace)


@dataclass
class Node:
    """``skew`` and ``rate`` are its clock's against the simulation's. ``disk``: its votes; None: lost.

    ``frozen``: nothing on it goes on, and its kernel's buffer fills; ``woke``: when that ended last. ``stopped``: its
    supervisor alone does not go on. ``overdue``: when systemd's watchdog ends it, if it does nothing more.
    """

    index: int
    skew: float = 0.0
    rate: float = 1.0
    up: bool = False
    supervisor: Supervisor | None = None
    disk: object = None
    incarnation: int = 0
    tree: Tree | None = None
    frozen: bool = False
    stopped: bool = False
    woke: float = -1e9
    overdue: float = 0.0
    fit: bool | None = True
    unfit: str = ""
    terminated: bool = False
    stop_requested: bool = False
    refused: set[int] = field(default_factory=set)
    buffer: list = field(default_factory=list)
    events: list = field(default_factory=list)
    said: object = None
    due: list[float] = field(default_factory=lambda: [0.0])

    @property
    def state(self):
        return self.supervisor.state

    def clock(self, now: float) -> float:
        return self.skew + self.rate * now

    def takes_turns(self) -> bool:
        return self.up and self.supervisor is not None and not self.frozen and not self.stopped

    def hold(self, what: object) -> None:
        """Keep a datagram until the supervisor reads it."""
        if len(self.buffer) < BUFFERED:
            self.buffer.append(what)

    def runs(self, generation: int) -> bool:
        """Whether its ranks of this generation go on, or are done."""
        tree = self.tree
        if not self.up or self.frozen or tree is None or tree.generation != generation:
            return False
        return tree.succeeded or (tree.alive and tree.died is None and tree.asked_to_end is None)
