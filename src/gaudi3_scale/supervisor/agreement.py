# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How nodes agree on the next generation: Paxos, once for each, among the voters of the current one.

Every message carries a node's whole vote, so a lost, late or repeated one does no harm. A promise or an accepted value
may be passed on by anybody; only votes of voters count. Because two quorums have a voter in common, no two
generations of one number are ever chosen, however the network behaves.
"""

from __future__ import annotations

from gaudi3_scale.supervisor.generation import RUN, Generation
from gaudi3_scale.supervisor.lease import has_vote, may_accept, peer_has_vote
from gaudi3_scale.supervisor.messages import Accepted, Ballot, Message
from gaudi3_scale.supervisor.state import NO_BALLOT, Rules, State

# A ballot that gets no answer in this time is followed by a higher one, which is given twice the time: on a network
# that is slow for long the first ones come to nothing.
BALLOT_S = 1.5
MOST_DOUBLINGS = 4


def take(state: State, rules: Rules, message: Message, now: float) -> State:
    """``state`` after a peer's vote, or after it knows of a later generation."""
    if message.committed.number > state.committed.number:
        return adopt(state, message.committed, now)
    if message.committed.number < state.committed.number or not has_vote(state, rules):
        return state
    promised, accepted = state.promised, state.accepted
    newer = message.accepted is not None and message.accepted[0] >= max(promised, message.promised)
    if newer and message.accepted is not None and may_accept(state, rules, now):
        promised, accepted = message.accepted[0], message.accepted
    promised = max(promised, message.promised)
    if (promised, accepted) == (state.promised, state.accepted):
        return state
    return state.having(promised=promised, accepted=accepted, balloted=now)


def adopt(state: State, generation: Generation, now: float) -> State:
    """``generation`` is the current one; votes begin anew."""
    return state.having(
        committed=generation,
        changed=now,
        promised=NO_BALLOT,
        accepted=None,
        gone=frozenset(),
        interruption=None,
        step=None,
        waiting=None,
        slow={},
        standing_by={},
    )


def chosen(state: State, rules: Rules) -> Generation | None:
    """The next generation, once a quorum of voters has accepted it."""
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
    patience = BALLOT_S * 2.0 ** min(max(ballot[0] - 1, 0), MOST_DOUBLINGS)
    if ballot == NO_BALLOT or state.balloted + patience < now:
        return state.having(promised=(ballot[0] + 1, rules.index), balloted=now)
    if ballot[1] != rules.index or (state.accepted is not None and state.accepted[0] == ballot):
        # Another one asks, or the value is out already.
        return state
    votes = _votes(state, rules)
    promises = {index: vote[1] for index, vote in votes.items() if vote[0] == ballot}
    if not state.committed.is_quorum(promises) or not may_accept(state, rules, now):
        return state
    earlier = [accepted for accepted in promises.values() if accepted is not None]
    if not earlier and not _are_there(state, rules, wanted):
        return state
    value = max(earlier, key=lambda accepted: accepted[0])[1] if earlier else wanted
    return state.having(accepted=(ballot, value))


def _are_there(state: State, rules: Rules, wanted: Generation) -> bool:
    """Whether all members of ``wanted`` have answered since the ballot was begun: a link is old before it is lost."""
    return all(is_there(state, rules, index) for index in wanted.indexes) if wanted.kind == RUN else True


def is_there(state: State, rules: Rules, index: int) -> bool:
    """Whether the node has acknowledged something that was sent after the last vote."""
    peer = state.peers.get(index)
    return index == rules.index or (peer is not None and peer.reached is not None and peer.reached >= state.balloted)


def _votes(state: State, rules: Rules) -> dict[int, tuple[Ballot, Accepted]]:
    """By index of a voter, what it promised and accepted for the generation after the current one."""
    votes: dict[int, tuple[Ballot, Accepted]] = {}
    if has_vote(state, rules):
        votes[rules.index] = (state.promised, state.accepted)
    for index, peer in state.peers.items():
        message = peer.message
        if message.committed.number == state.committed.number and peer_has_vote(state, message):
            votes[index] = (message.promised, message.accepted)
    return votes
