# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whom a supervisor hears, and who hears it. Times are this node's monotonic clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Iterable, Mapping

from .messages import Message


@dataclass(frozen=True)
class Peer:
    """The newest message of another node and when it came; ``first``: when this incarnation was heard first."""

    message: Message
    received: float
    first: float


Peers = Mapping[int, Peer]


def heard(peers: Peers, message: Message, now: float) -> Peers:
    """``peers`` with ``message``, unless it is older than what is known of that node.

    Networks reorder and repeat; a supervisor that was started again has a higher incarnation.
    """
    known = peers.get(message.index)
    if known is not None:
        before = (known.message.incarnation, known.message.sequence)
        if (message.incarnation, message.sequence) <= before:
            return peers
    same = known is not None and known.message.incarnation == message.incarnation
    return {**peers, message.index: Peer(message, now, known.first if known and same else now)}


def heard_ages(peers: Peers, count: int, now: float) -> tuple[float | None, ...]:
    """For our own messages: how long ago each node was heard."""
    return tuple(now - peers[index].received if index in peers else None for index in range(count))


def link_age(peers: Peers, me: int, index: int, now: float) -> float | None:
    """Seconds since word last came through in the worse of both directions; None where it never came in one of them.

    A node that is heard but does not hear us cannot take part: what we say does not reach it.
    """
    peer = peers.get(index)
    if peer is None:
        return None
    ages = peer.message.heard
    told = ages[me] if me < len(ages) else None
    since = now - peer.received
    return None if told is None else max(since, told + since)


def linked(peers: Peers, me: int, now: float, within: float) -> frozenset[int]:
    """The nodes with which word goes both ways, and this one."""
    ages = {index: link_age(peers, me, index, now) for index in peers}
    return frozenset([me, *(index for index, age in ages.items() if age is not None and age <= within)])


def pair_is_linked(peers: Peers, one: int, other: int, within: float) -> bool:
    """Whether two other nodes say that they hear each other."""
    return all(_hears(peers, here, there, within) for here, there in ((one, other), (other, one)))


def _hears(peers: Peers, here: int, there: int, within: float) -> bool:
    peer = peers.get(here)
    if peer is None or there >= len(peer.message.heard):
        return False
    age = peer.message.heard[there]
    return age is not None and age <= within


def all_linked(peers: Peers, me: int, wanted: Iterable[int], within: float) -> tuple[int, ...]:
    """Of ``wanted``, in their order, those that each hear all that are kept; each is linked with this node already."""
    kept: list[int] = []
    for index in wanted:
        if index == me or all(other == me or pair_is_linked(peers, index, other, within) for other in kept):
            kept.append(index)
    return tuple(kept)


def aged(message: Message, seconds: float) -> Message:
    """The message with its ages brought to now, ``seconds`` after it came."""
    report = message.report
    age = None if report.step_age is None else report.step_age + seconds
    return replace(message, report=replace(report, step_age=age, failure_age=report.failure_age + seconds))
