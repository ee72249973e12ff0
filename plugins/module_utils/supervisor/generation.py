# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the nodes of a job agree on: one generation after another, each with its members in the order of the ranks.

A generation is decided on by a quorum of the members of the one before it (dynamic linear voting: a majority, or half
of them with the first one among them), so that of two halves of a network only one goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Collection, Mapping, Optional

# Kinds of a generation: before the first run, ranks run, the job is over.
WAIT = "wait"
RUN = "run"
END = "end"

SUCCEEDED = "succeeded"
FAILED = "failed"
STOPPED = "stopped"

# The incarnation of members of generation 0: any, since nobody has been heard yet.
ANY = 0

# A node by its index among hosts and spares, and the incarnation of its supervisor.
Member = tuple[int, int]
Place = Optional[Member]


@dataclass(frozen=True)
class Generation:
    """``places`` are as many as the job's hosts; an empty one is that of a node which is left out.

    ``restarts``: how many of those before it count against max_restarts. ``early_failures``: how many of those right
    before it failed early, one after the other. ``has_run``: the program has run for min_runtime in one before it.
    ``left_out``: nodes that were too slow, or on which the program could not begin, by index. ``step``: the furthest
    that any generation before it got; None: none made a step, or none told of it.
    ``grown``: the nodes for which ranks were ended so that the job could grow, by index, each as often as that was
    done. ``reason`` is a sentence; ``outcome`` and ``failure`` (:meth:`job.failure.RankFailure.as_dict`, with ``host``)
    are those of an end.
    """

    number: int
    kind: str
    places: tuple[Place, ...]
    restarts: int = 0
    early_failures: int = 0
    has_run: bool = False
    left_out: tuple[int, ...] = ()
    step: int | None = None
    grown: tuple[int, ...] = ()
    reason: str = ""
    outcome: str = ""
    failure: Mapping[str, object] | None = None

    @property
    def members(self) -> tuple[Member, ...]:
        """In the order of their node ranks."""
        return tuple(place for place in self.places if place is not None)

    @property
    def indexes(self) -> tuple[int, ...]:
        return tuple(index for index, _incarnation in self.members)

    def has(self, index: int, incarnation: int) -> bool:
        """Whether this very supervisor is a member; one that was started again is another."""
        return any(index == known and wanted in (ANY, incarnation) for known, wanted in self.members)

    def is_quorum(self, indexes: Collection[int]) -> bool:
        """Whether these members may decide for all. Any two such sets have a member in common."""
        count = sum(index in indexes for index in self.indexes)
        return 2 * count > len(self.indexes) or (2 * count == len(self.indexes) and self.indexes[0] in indexes)


def first_generation(hosts: int) -> Generation:
    """Before anything ran: all hosts decide on the first run."""
    return Generation(0, WAIT, tuple((index, ANY) for index in range(hosts)))


def as_plain(generation: Generation) -> list[object]:
    """As JSON values, in few bytes."""
    return [
        generation.number,
        generation.kind,
        [list(place) if place else 0 for place in generation.places],
        generation.restarts,
        generation.early_failures,
        int(generation.has_run),
        list(generation.left_out),
        generation.step,
        list(generation.grown),
        generation.reason,
        generation.outcome,
        generation.failure,
    ]


def from_plain(data: list[object]) -> Generation:
    """The reverse of :func:`as_plain`; raises ValueError, TypeError or KeyError for other data."""
    number, kind, places, restarts, early_failures, has_run, left_out, step, grown, reason, outcome, failure = data
    if not isinstance(places, list) or not isinstance(left_out, list) or not isinstance(grown, list):
        raise ValueError("no generation")
    if kind not in (WAIT, RUN, END):
        raise ValueError("no generation")
    return Generation(
        number=int(str(number)),
        kind=str(kind),
        places=tuple((int(place[0]), int(place[1])) if place else None for place in places),
        restarts=int(str(restarts)),
        early_failures=int(str(early_failures)),
        has_run=bool(has_run),
        left_out=tuple(map(int, left_out)),
        step=None if step is None else int(str(step)),
        grown=tuple(map(int, grown)),
        reason=str(reason),
        outcome=str(outcome),
        failure=failure if isinstance(failure, dict) else None,
    )
