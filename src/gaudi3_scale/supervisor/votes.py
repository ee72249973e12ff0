# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What has to outlive a supervisor: its votes, kept before anybody hears of them, so that its next life keeps its word.

Without them a node that was started again could vote twice on the same question, and the job would be over once most
nodes have lost power.
"""

from __future__ import annotations

from dataclasses import dataclass

from gaudi3_scale.supervisor.generation import Generation, first_generation
from gaudi3_scale.supervisor.messages import Accepted, Ballot
from gaudi3_scale.supervisor.state import NO_BALLOT, Rules, State


@dataclass(frozen=True)
class Votes:
    """``incarnation``: of the last supervisor that kept this. ``remembers``: of the first one whose votes are in it;
    0 where that was the first of the launch.
    """

    incarnation: int
    remembers: int
    committed: Generation
    promised: Ballot = NO_BALLOT
    accepted: Accepted = None


def first_votes(rules: Rules) -> Votes:
    """Of a node on which this launch has begun nothing yet."""
    return Votes(0, 0, first_generation(rules.hosts, rules.witness))


def votes_of(state: State) -> Votes:
    """What is to be kept before anything follows from ``state``."""
    return Votes(state.incarnation, state.remembers, state.committed, state.promised, state.accepted)
