# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How nodes agree on the next generation: Paxos, once for each, among the members of the current one.

Every message carries a node's whole vote, so a lost, late or repeated one does no harm. A promise or an accepted value
may be passed on by anybody; only votes of members count. Because two quorums have a member in common, no two
generations of one number are ever chosen, however the network behaves.
"""

from __future__ import annotations

from dataclasses import replace

from .generation import Generation
from .messages import Accepted, Ballot, Message
from .state import NO_BALLOT, Rules, State

# A ballot that gets no answer in this time is followed by a higher one.
BALLOT_S = 1.5


def take(state: State, message: Message, now: float) -> State:
    """``state`` after a peer's vote, or after it knows of a later generation."""
    if message.committed.number > state.committed.number:
        return adopt(state, message.committed, now)
    if message.committed.number < state.committed.number or not state.voter:
        return state
    promised, accepted = state.promised, state.accepted
    if message.accepted is not None and message.accepted[0] >= max(promised, message.promised):
        promised, accepted = message.accepted[0], message.accepted
    promised = max(promised, message.promised)
    if (promised, accepted) == (state.promised, state.accepted):
        return state
    return replace(state, promised=promised, accepted=accepted, balloted=now)


def adopt(state: State, generation: Generation, now: float) -> State:
    """``generation`` is the current one; votes begin anew."""
    return replace(
        state,
        committed=generation,
        changed=now,
        promised=NO_BALLOT,
        accepted=None,
        halt=None,
        step=None,
        waiting=None,
        slow={},
        standing_by={},
        voter=True,
    )


def chosen(state: State, rules: Rules) -> Generation | None:
    """The next generation, once a quorum of members has accepted it."""
    ballots: dict[Ballot, set[int]] = {}
    values: dict[Ballot, Generation] = {}
    for index, vote in _votes(state, rules).items():
        accepted = vote[1]
        if accepted is not None:
            ballots.setdefault(accepted[0], set()).add(index)
            values[accepted[0]] = accepted[1]
    for ballot, voters in ballots.items():
        if state.committed.is_quorum(voters):
            return values[ballot]
    return None


def propose(state: State, rules: Rules, wanted: Generation, now: float) -> State:
    """The next step of a leader that wants ``wanted``: a ballot, then the value that this ballot may carry."""
    ballot = state.promised
    if ballot == NO_BALLOT or state.balloted + BALLOT_S < now:
        return replace(state, promised=(ballot[0] + 1, rules.index), balloted=now)
    if ballot[1] != rules.index or (state.accepted is not None and state.accepted[0] == ballot):
        # Another one asks, or the value is out already.
        return state
    votes = _votes(state, rules)
    promises = {index: vote[1] for index, vote in votes.items() if vote[0] == ballot}
    if not state.committed.is_quorum(promises):
        return state
    earlier = [accepted for accepted in promises.values() if accepted is not None]
    value = max(earlier, key=lambda accepted: accepted[0])[1] if earlier else wanted
    return replace(state, accepted=(ballot, value))


def _votes(state: State, rules: Rules) -> dict[int, tuple[Ballot, Accepted]]:
    """By index of a member, what it promised and accepted for the generation after the current one."""
    votes: dict[int, tuple[Ballot, Accepted]] = {}
    if state.voter and state.committed.has(rules.index, state.incarnation):
        votes[rules.index] = (state.promised, state.accepted)
    for index, peer in state.peers.items():
        message = peer.message
        counts = message.voter and state.committed.has(index, message.incarnation)
        if counts and message.committed.number == state.committed.number:
            votes[index] = (message.promised, message.accepted)
    return votes
