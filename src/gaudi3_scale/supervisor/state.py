# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a supervisor knows between two looks: the values that ``decision.advance`` takes and gives."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Mapping

from gaudi3_scale.supervisor.generation import Generation
from gaudi3_scale.supervisor.messages import Accepted, Ballot, Interruption, Report
from gaudi3_scale.supervisor.view import Peers

NO_BALLOT: Ballot = (0, -1)


@dataclass(frozen=True)
class Rules:
    """What the launch asked for; seconds. ``names``: hosts, then spares, then the witness, whose index is ``witness``;
    ``index``: this node among them.

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
    witness: int | None = None
    lost_after: float = 10.0
    join_timeout: float = 600.0
    hang_timeout: float = 0.0
    start_timeout: float = 0.0
    stop_grace: float = 60.0
    failure_grace: float = 1.0
    straggler_ratio: float = 0.0
    exclude_stragglers: bool = False
    grow_after: float = 60.0

    @property
    def tell_every(self) -> float:
        """Seconds between two messages, where nothing is new: a link is as old as two of them, and some get lost."""
        return min(1.0, self.lost_after / 10)

    @property
    def lease(self) -> float:
        """Ranks may run for so long after this node has sent what a quorum has acknowledged. The others go on without
        it after lost_after: until then its ranks are to be gone.
        """
        return 0.8 * self.lost_after

    @property
    def isolated_grace(self) -> float:
        """For ranks that have lost the others, who may go on without them: nobody can use a checkpoint of theirs."""
        return min(1.0, self.lost_after / 10)

    @property
    def ranked(self) -> range:
        """The nodes that may have ranks."""
        return range(len(self.names) if self.witness is None else self.witness)


@dataclass(frozen=True)
class Facts:
    """How things stand on this node. ``generation`` is that of the ranks that were started last; None: of none.

    ``reports``: its ranks have told something of how far they are, be it that they have made no step yet.
    ``alive``: processes of it are there. ``rank_died``: at least one rank did not end well, or the agent did not.
    ``succeeded``: all of them ended well. ``failure`` is known once nothing is alive. ``refused``: the nodes that are
    there and have said, since the last look, that no supervisor listens.
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
    refused: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Refusal:
    """Since when, and when last, a node has said that no supervisor listens there."""

    first: float
    last: float


@dataclass(frozen=True)
class State:
    """``changed``: when the current generation was learned of. ``remembers``: the first incarnation of this node whose
    votes are known here. ``bound_since``: until lost_after from then, earlier lives of it may have granted leases.
    ``sent``: when each of the last messages was sent, by sequence. ``gone``: members of the current generation whose
    ranks have ended. ``leads``: see :class:`messages.Message`. ``asked``: when a node was last asked for an answer.
    ``looked``: when this was decided on last; ``alone``: for how many seconds of looking no quorum was in reach.

    ``interruption`` is that of the current generation; ``step``: the furthest of it that was seen. ``waiting``: since
    when there is nobody to go on with. By index, since when a node has been slower than the others (``slow``), or
    could have taken part though it does not (``standing_by``). ``lost``, ``reported`` are what was
    told already. ``exit`` is the outcome with which this supervisor may end.
    """

    incarnation: int
    committed: Generation
    report: Report
    started: float
    changed: float
    looked: float
    remembers: int = 0
    bound_since: float = -math.inf
    promised: Ballot = NO_BALLOT
    accepted: Accepted = None
    balloted: float = 0.0
    peers: Peers = field(default_factory=dict)
    sequence: int = 0
    sent: Mapping[int, float] = field(default_factory=dict)
    gone: frozenset[int] = frozenset()
    leads: int = 0
    refused: Mapping[int, Refusal] = field(default_factory=dict)
    asked: Mapping[int, float] = field(default_factory=dict)
    alone: float = 0.0
    interruption: Interruption | None = None
    interrupted: float = 0.0
    stop: bool = False
    stopped: float = 0.0
    step: int | None = None
    waiting: float | None = None
    slow: Mapping[int, float] = field(default_factory=dict)
    standing_by: Mapping[int, float] = field(default_factory=dict)
    lost: frozenset[int] = frozenset()
    reported: frozenset[str] = frozenset()
    exit: str | None = None
    exit_reason: str = ""

    def having(self, **changes: Any) -> State:
        """As ``dataclasses.replace`` makes it, which takes most of the time of a look: it begins with thirty fields."""
        unknown = changes.keys() - self.__dict__.keys()
        if unknown:
            raise TypeError(f"a state has no {', '.join(unknown)}")
        made = object.__new__(State)
        made.__dict__.update(self.__dict__, **changes)
        return made

    @property
    def is_further(self) -> bool:
        """Whether the current generation has made a step that none before it had made."""
        return self.step is not None and (self.committed.step is None or self.step > self.committed.step)


@dataclass(frozen=True)
class Order:
    """What the processes of this node are to do. ``run``: the generation to start; ``end``: end what runs.

    ``grace``: seconds from SIGTERM to SIGKILL. ``stacks``: write down first where each rank is. ``ask``: the nodes that
    are to be asked for an answer now; ``answer``: those that have asked.
    """

    run: Generation | None = None
    end: bool = False
    grace: float = 0.0
    stacks: bool = False
    ask: tuple[int, ...] = ()
    answer: tuple[int, ...] = ()


@dataclass(frozen=True)
class Event:
    """Something that people want to know; ``host`` is the node that it is about."""

    kind: str
    generation: int
    host: str | None
    text: str
