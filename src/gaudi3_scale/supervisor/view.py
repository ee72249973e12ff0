# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whom a supervisor hears, and who hears it. Times are this node's own clock.

Word that came is not taken for word that was sent just now: a node that was frozen reads what had piled up. So a link
is as old as the newest word of our own that the other one has acknowledged, counted from when we sent it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Mapping, Sequence

from gaudi3_scale.supervisor.messages import Ack, Message, Ping


@dataclass(frozen=True)
class Peer:
    """What is known of another node.

    ``message``: its newest; ``sequence``: of what came last, be it a :class:`Ping`, and ``received``: when that came.
    ``first``: when this incarnation was heard first. ``reached``: when the newest of our own words was sent that it
    has acknowledged; ``granted``: the same of what it had acknowledged when it said what ``message`` has.
    """

    message: Message
    sequence: int
    received: float
    first: float
    reached: float | None
    granted: float | None


Peers = Mapping[int, Peer]


def heard(peers: Peers, said: Message | Ping, reached: float | None, now: float) -> Peers:
    """``peers`` with what was said, unless that is older than what is known of that node.

    Networks reorder and repeat; a supervisor that was started again has a higher incarnation. ``reached``: when the
    word was sent that ``said`` acknowledges.
    """
    known = peers.get(said.index)
    same = known is not None and known.message.incarnation == said.incarnation
    if known is not None and not same and said.incarnation < known.message.incarnation:
        return peers
    if isinstance(said, Ping):
        if known is None or not same or said.sequence <= known.sequence:
            return peers
        newer = replace(known, sequence=said.sequence, received=now, reached=_latest(known.reached, reached))
    elif known is None or not same:
        newer = Peer(said, said.sequence, now, now, reached, reached)
    elif said.sequence <= known.message.sequence:
        return peers
    else:
        # A ping of the same word, or of one after it, may have come before.
        newest = max(said.sequence, known.sequence)
        received = now if newest > known.sequence else known.received
        newer = Peer(said, newest, received, known.first, _latest(known.reached, reached), reached)
    return {**peers, said.index: newer}


def _latest(one: float | None, other: float | None) -> float | None:
    return one if other is None or (one is not None and one > other) else other


def acks_of(peers: Peers, count: int) -> tuple[Ack | None, ...]:
    """For our own messages: what came last of each node."""
    return tuple(
        (peers[index].message.incarnation, peers[index].sequence) if index in peers else None for index in range(count)
    )


def links_of(peers: Peers, count: int, now: float) -> tuple[float | None, ...]:
    """For our own messages: how old our link to each node is."""
    return tuple(link_age(peers[index], now) if index in peers else None for index in range(count))


def link_age(peer: Peer, now: float) -> float | None:
    """Seconds since the word was sent that came through last, and was answered; None where none has been."""
    return None if peer.reached is None else now - peer.reached


def linked(peers: Peers, me: int, now: float, within: float) -> frozenset[int]:
    """The nodes with which word goes both ways, and this one."""
    since = now - within
    near = [index for index, peer in peers.items() if peer.reached is not None and peer.reached >= since]
    return frozenset([me, *near])


def links_among(peers: Peers, me: int, nodes: Sequence[int], within: float) -> dict[int, set[int]]:
    """By node those of ``nodes`` that say of each other that word goes there and back; this node is linked with all."""
    reached = {index: frozenset(nodes) if index == me else reached_by(peers, index, within) for index in nodes}
    among = {index: {other for other in reached[index] if index in reached.get(other, ())} for index in nodes}
    return {index: others | {me} for index, others in among.items()}


def reached_by(peers: Peers, index: int, within: float) -> frozenset[int]:
    """The nodes that a peer says to be linked with."""
    peer = peers.get(index)
    links = () if peer is None else peer.message.links
    return frozenset(other for other, age in enumerate(links) if age is not None and age <= within)
