# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the nodes of a job agree on: one generation after another, each with its members in the order of the ranks.

A generation is decided on by a quorum of the voters of the one before it (dynamic linear voting: a majority, or half
of them with the first member among them), so that of two halves of a network only one goes on. Voters are the members,
and a witness where the job has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
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

# A node by its index among hosts, spares and the witness, and the incarnation of its supervisor.
Member = tuple[int, int]
Place = Optional[Member]


@dataclass(frozen=True)
class Generation:
    """``places`` are as many as the job's hosts; an empty one is that of a node which is left out.

    ``restarts``: how many of those before it count against max_restarts. ``early_failures``: how many of those right
    before it failed early, one after the other. ``has_run``: the program has run for min_runtime in one before it.
    ``left_out``: nodes that were too slow, or on which the program could not begin, by index. ``step``: the furthest
    that any generation before it got; None: none made a step, or none told of it.
    ``failed_at``: the place at which the program failed right before, by its own fault (see ``repeated``), or "".
    ``grown``: the nodes for which ranks were ended so that the job could grow, by index, each as often as that was
    done. ``reason`` is a sentence; ``outcome`` and ``failure`` (:meth:`job.failure.RankFailure.as_dict`, with ``host``)
    are those of an end. ``witness`` votes and has no ranks.
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
    failed_at: str = ""
    reason: str = ""
    outcome: str = ""
    failure: Mapping[str, object] | None = None
    witness: Place = None

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """In the order of their node ranks."""
        return tuple(place for place in self.places if place is not None)

    @cached_property
    def indexes(self) -> tuple[int, ...]:
        return tuple(index for index, _incarnation in self.members)

    @cached_property
    def voters(self) -> Mapping[int, int]:
        """Incarnation by index, in the order in which they lead: the members, then the witness."""
        return dict([*self.members, *filter(None, [self.witness])])

    @cached_property
    def _incarnations(self) -> Mapping[int, int]:
        return dict(self.members)

    def has(self, index: int, incarnation: int) -> bool:
        """Whether this very supervisor is a member; one that was started again is another, without these ranks."""
        return self._incarnations.get(index) in (ANY, incarnation)

    def has_vote(self, index: int, remembers: int) -> bool:
        """Whether the node votes on the next one: it knows its votes since the incarnation that belongs to this one."""
        return index in self.voters and remembers <= self.voters[index]

    def is_quorum(self, indexes: Collection[int]) -> bool:
        """Whether these voters may decide for all. Any two such sets have a voter in common."""
        count = sum(index in indexes for index in self.voters)
        half = 2 * count == len(self.voters)
        return 2 * count > len(self.voters) or (half and self.indexes[0] in indexes)


def first_generation(hosts: int, witness: int | None = None) -> Generation:
    """Before anything ran: all hosts decide on the first run."""
    places = tuple((index, ANY) for index in range(hosts))
    return Generation(0, WAIT, places, witness=None if witness is None else (witness, ANY))


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
        generation.failed_at,
        generation.reason,
        generation.outcome,
        generation.failure,
        list(generation.witness) if generation.witness else 0,
    ]
