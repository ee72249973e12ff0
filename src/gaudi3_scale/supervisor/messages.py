# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the supervisors of a job tell each other: each its whole state.

Nothing in a message is a time of day: clocks of nodes differ. Ages are in seconds before it was sent. Nodes are indexes
into hosts and spares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Optional

from gaudi3_scale.core._job.log_lines import cut_middle
from gaudi3_scale.core._job.reported_failure import texts_of
from gaudi3_scale.supervisor.generation import Generation

# Where a node's own worker group of the current generation stands.
IDLE = "idle"
RUNNING = "running"
DONE = "done"
ENDING = "ending"
GONE = "gone"

# Why the ranks of a generation are ended.
RANK_FAILED = "rank_failed"
NODE_LOST = "node_lost"
ISOLATED = "isolated"
HANG = "hang"
STOP = "stop"
LEAVING = "leaving"
GROWING = "growing"
CAUSES = (RANK_FAILED, NODE_LOST, ISOLATED, HANG, STOP, LEAVING, GROWING)

# Characters of what people read; a reason may name many nodes.
TEXT_LENGTH = 400
REASON_LENGTH = 2000
LINES_KEPT = 15
# Of these a part says something else than the whole.
WHOLE_TEXTS = ("kind", "at", "row")
FAILURE_LENGTHS = dict.fromkeys(("exception", "message", "path", "host", *WHOLE_TEXTS), 2 * TEXT_LENGTH)

Ballot = tuple[int, int]
Accepted = Optional[tuple[Ballot, Generation]]
# Incarnation of another node, and the highest sequence number that came from it.
Ack = tuple[int, int]


@dataclass(frozen=True)
class Interruption:
    """The ranks of generation ``generation`` are to end: for what cause, seen at or by which node."""

    generation: int
    cause: str
    index: int
    text: str = ""


@dataclass(frozen=True)
class Report:
    """A node's own worker group. Lists have an entry for each rank; ``step_age``: seconds since a step came last.

    ``fit`` None: not looked at yet; ``unfit`` is the reason of a False. ``stuck``: processes that cannot be ended.
    ``failure`` is :meth:`job.failure.RankFailure.as_dict` with its time given as the age ``failure_age``.
    """

    phase: str = IDLE
    fit: bool | None = None
    unfit: str = ""
    stuck: bool = False
    steps: tuple[int | None, ...] = ()
    busy: tuple[float | None, ...] = ()
    step_age: float | None = None
    failure: Mapping[str, object] | None = None
    failure_age: float = 0.0
    leaving: bool = False


@dataclass(frozen=True)
class Message:
    """What a node tells all others. Lists are by index of the node that each value is about.

    ``remembers``: the first incarnation of this node whose votes it still knows; 0: all of this launch.
    ``acks``: what came last of each node. ``links``: how old the newest word of ours is that each has acknowledged, in
    seconds. None: nothing so far. ``gone``: members of the current generation whose ranks are known to have ended.
    ``leads``: 0 where this node does not reach a quorum; else one more than the places that it could fill.
    ``asks``: the receiver is to answer at once.
    """

    index: int
    incarnation: int
    sequence: int
    committed: Generation
    promised: Ballot
    accepted: Accepted
    acks: tuple[Ack | None, ...]
    links: tuple[float | None, ...]
    report: Report
    remembers: int = 0
    gone: frozenset[int] = frozenset()
    leads: int = 0
    interruption: Interruption | None = None
    stop: bool = False
    asks: bool = False


@dataclass(frozen=True)
class Ping:
    """The part of a message that says who hears whom; sent alone where the whole takes several datagrams."""

    index: int
    incarnation: int
    sequence: int
    acks: tuple[Ack | None, ...]
    links: tuple[float | None, ...]
    asks: bool = False


def short_failure(failure: Mapping[str, object], length: int = TEXT_LENGTH) -> dict[str, object]:
    """The failure in a length that a datagram carries well; the whole log is where its ``path`` says."""
    kept = [cut_middle(line, length // 2) for line in texts_of(failure, "lines")[-LINES_KEPT:]]
    texts = {name: str(failure[name])[: 2 * length] for name in FAILURE_LENGTHS if name in failure}
    texts |= {name: "" for name in WHOLE_TEXTS if len(str(failure.get(name, ""))) > 2 * length}
    followed = [line[: length // 2] for line in texts_of(failure, "others")[:LINES_KEPT]]
    return {**failure, **texts, "lines": kept, **({"others": followed} if followed else {})}
