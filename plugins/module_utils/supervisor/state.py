# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a supervisor knows between two looks: the values that ``decision.advance`` takes and gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

from .generation import Generation
from .messages import Accepted, Ballot, Halt, Message, Report
from .view import Peers

NO_BALLOT: Ballot = (0, -1)


@dataclass(frozen=True)
class Rules:
    """What the launch asked for; seconds. ``names``: hosts, then spares; ``index``: this node among them.

    ``reports_steps``: the program is known to tell its steps, before it has told one.
    """

    names: tuple[str, ...]
    hosts: int
    index: int
    processes_per_node: int = 1
    min_nodes: int = 1
    max_restarts: int = 3
    min_runtime: float = 60.0
    reports_steps: bool = False
    lost_after: float = 15.0
    join_timeout: float = 600.0
    hang_timeout: float = 0.0
    start_timeout: float = 0.0
    stop_grace: float = 60.0
    failure_grace: float = 5.0
    straggler_ratio: float = 0.0
    exclude_stragglers: bool = False
    grow_after: float = 60.0

    @property
    def tell_every(self) -> float:
        """Seconds between two messages, where nothing is new: a link is as old as two of them, and some get lost."""
        return min(1.0, self.lost_after / 10)

    @property
    def lease(self) -> float:
        """So long without a quorum, and a node ends its ranks: before the others take it for lost and go on."""
        return 0.8 * self.lost_after


@dataclass(frozen=True)
class Facts:
    """How things stand on this node. ``generation`` is that of the ranks that were started last; None: of none.

    ``reports``: its ranks have told something of how far they are, be it that they have made no step yet.
    ``alive``: processes of it are there. ``rank_died``: at least one rank did not end well, or the agent did not.
    ``succeeded``: all of them ended well. ``failure`` is known once nothing is alive.
    """

    generation: int | None = None
    alive: bool = False
    rank_died: bool = False
    succeeded: bool = False
    stuck: bool = False
    failure: Mapping[str, object] | None = None
    failure_age: float = 0.0
    steps: tuple[int | None, ...] = ()
    busy: tuple[float | None, ...] = ()
    step_age: float | None = None
    reports: bool = False
    fit: bool | None = None
    unfit: str = ""
    terminated: bool = False
    stop_requested: bool = False


@dataclass(frozen=True)
class State:
    """``changed``: when the current generation was learned of. ``quorum_heard``: when this node last had word with one.

    ``halt`` is that of the current generation; ``step``: the furthest of it that was seen. ``waiting``: since when
    there is nobody to go on with. By index, since when a node has been slower than the others (``slow``), or could have
    taken part though it does not (``standing_by``). ``lost``, ``told`` are what was told already. ``exit`` is the
    outcome with which this supervisor may end.
    """

    incarnation: int
    committed: Generation
    report: Report
    started: float
    changed: float
    quorum_heard: float
    voter: bool = True
    promised: Ballot = NO_BALLOT
    accepted: Accepted = None
    balloted: float = 0.0
    peers: Peers = field(default_factory=dict)
    halt: Halt | None = None
    halted: float = 0.0
    stop: bool = False
    stopped: float = 0.0
    step: int | None = None
    waiting: float | None = None
    slow: Mapping[int, float] = field(default_factory=dict)
    standing_by: Mapping[int, float] = field(default_factory=dict)
    lost: frozenset[int] = frozenset()
    told: frozenset[str] = frozenset()
    exit: str | None = None
    exit_reason: str = ""

    @property
    def is_further(self) -> bool:
        """Whether the current generation has made a step that none before it had made."""
        return self.step is not None and (self.committed.step is None or self.step > self.committed.step)


@dataclass(frozen=True)
class Order:
    """What the processes of this node are to do. ``run``: the generation to start; ``end``: end what runs.

    ``grace``: seconds from SIGTERM to SIGKILL. ``stacks``: write down first where each rank is.
    """

    run: Generation | None = None
    end: bool = False
    grace: float = 0.0
    stacks: bool = False


@dataclass(frozen=True)
class Event:
    """Something that people want to know; ``host`` is the node that it is about."""

    kind: str
    generation: int
    host: str | None
    text: str


def message_of(state: State, rules: Rules, sequence: int, ages: tuple[float | None, ...]) -> Message:
    """What this node tells all others."""
    return Message(
        index=rules.index,
        incarnation=state.incarnation,
        sequence=sequence,
        committed=state.committed,
        promised=state.promised,
        accepted=state.accepted,
        heard=ages,
        report=state.report,
        halt=state.halt,
        stop=state.stop,
        voter=state.voter,
    )
