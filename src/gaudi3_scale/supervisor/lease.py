# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Why ranks of an old generation do not run beside those of a new one: a node runs ranks on a lease of a quorum.

A voter that acknowledges a node's word thereby grants it a lease: it accepts no next generation before the lease is
over (``lost_after`` from when it heard the word), or before it knows that the node's ranks have ended. The node counts
from when it sent that word, and gives up a little before (``lease``). The voters that accept a next generation have one
in common with those that granted the lease, so whoever is not told to end has ended before.

A lease is of one generation: only words count that the node has sent since it learned of it. So a node that goes on
telling of an older one, since it is heard and hears nobody, holds up nothing.
"""

from __future__ import annotations

import math

from gaudi3_scale.supervisor.generation import RUN
from gaudi3_scale.supervisor.messages import DONE, GONE, Message
from gaudi3_scale.supervisor.state import Rules, State
from gaudi3_scale.supervisor.view import Peer, linked


def has_vote(state: State, rules: Rules) -> bool:
    """Whether this node votes on what comes after the current generation."""
    return state.committed.has_vote(rules.index, state.remembers)


def peer_has_vote(state: State, message: Message) -> bool:
    """Whether the node that sent this does."""
    return state.committed.has_vote(message.index, message.remembers)


def holds_lease(state: State, rules: Rules, now: float) -> bool:
    """Whether ranks of the current generation may run on this node."""
    return state.committed.is_quorum([index for at, index in _grants(state, rules) if now - at <= rules.lease])


def gone_at(state: State, rules: Rules, now: float) -> float:
    """When ranks that run now are to be gone even if this supervisor does nothing more: before the others may go on
    without it. Ranks whose lease is over are being ended by it, for which it has its time.
    """
    return max(_lease_end(state, rules) + rules.lost_after - rules.lease, now + rules.isolated_grace)


def grace_left(state: State, rules: Rules, now: float) -> float:
    """For ranks without a lease, in seconds: less than usual where this supervisor stood still and sees it late."""
    usual = rules.isolated_grace
    # What is told to end is gone a few looks later.
    end = _lease_end(state, rules) + rules.lost_after - rules.lease - usual / 4
    return max(0.0, min(usual, end - now))


def _lease_end(state: State, rules: Rules) -> float:
    """Until when they may run if nothing more is acknowledged."""
    granted: list[int] = []
    for at, index in sorted(_grants(state, rules), reverse=True):
        granted.append(index)
        # A cheap question first: it is asked at each look.
        if 2 * len(granted) >= len(state.committed.voters) and state.committed.is_quorum(granted):
            return at + rules.lease
    return -math.inf


def _grants(state: State, rules: Rules) -> list[tuple[float, int]]:
    """When this node sent what voters acknowledged last, with the index of each; its own vote it has at any time.

    Of what it sent before it learned of the generation, nothing counts.
    """
    number = state.committed.number
    grants = [
        (peer.granted, index)
        for index, peer in state.peers.items()
        # What is sent in a look tells what was learned in it, and no two looks are at one time.
        if peer.granted is not None
        and peer.granted >= state.changed
        and peer.message.committed.number == number
        and peer.message.accepted is None
        and peer_has_vote(state, peer.message)
    ]
    return [*grants, (math.inf, rules.index)] if has_vote(state, rules) and state.accepted is None else grants


def may_accept(state: State, rules: Rules, now: float) -> bool:
    """Whether nobody can rely on this node's word any more, so that it may agree to a next generation."""
    if state.committed.kind != RUN:
        return True
    for index in state.committed.indexes:
        if index in state.gone:
            continue
        if index == rules.index:
            return False
        peer = state.peers.get(index)
        granted = -math.inf if peer is None or _has_not_begun(peer, state.committed.number) else peer.received
        # What an earlier life of this supervisor had granted, nobody knows.
        if now - max(granted, state.bound_since) <= rules.lost_after:
            return False
    return True


def _has_not_begun(peer: Peer, number: int) -> bool:
    """Whether its newest word says that it does not know of this generation; a ping does not say of which it knows."""
    return peer.message.committed.number < number and peer.message.sequence == peer.sequence


def gone_by(state: State, message: Message) -> frozenset[int]:
    """The members whose ranks are known to have ended, once ``message`` has come."""
    current = state.committed
    gone = state.gone
    if message.committed.number == current.number:
        gone = gone | message.gone
    wanted = current.voters.get(message.index) if message.index in current.indexes else None
    if wanted is not None and message.index not in gone and _have_ended(message, wanted, current.number):
        gone = gone | {message.index}
    return gone if len(gone) > len(state.gone) else state.gone


def _have_ended(message: Message, incarnation: int, number: int) -> bool:
    """A supervisor ends what an earlier one has left before it says its first word."""
    if message.incarnation != incarnation:
        return message.incarnation > incarnation
    return message.committed.number == number and message.report.phase in (GONE, DONE)


def voters_near(state: State, rules: Rules, now: float, within: float) -> list[int]:
    """The voters that could still agree on something with this node, itself among them."""
    near = linked(state.peers, rules.index, now, within)
    voters = [index for index in near if index in state.peers and peer_has_vote(state, state.peers[index].message)]
    return [*voters, rules.index] if has_vote(state, rules) else voters


def reaches_quorum(state: State, rules: Rules, now: float) -> bool:
    """Whether this node and voters that it is linked with can decide."""
    return state.committed.is_quorum(voters_near(state, rules, now, rules.lost_after))
