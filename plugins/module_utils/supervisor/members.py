# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Who can take part in the next generation, and in which place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

from .generation import RUN, Generation, Member, Place
from .messages import DONE, ENDING, RUNNING, Message
from .state import Rules, State
from .view import aged, all_linked, linked


@dataclass(frozen=True)
class Standing:
    """How the nodes look from here. ``messages`` are those of linked nodes and this one's own, with ages of now.

    ``missing``: members with which no word goes both ways, or whose supervisor was started again. ``unknown``: members
    of which that is not yet sure, or that have not done yet what comes before a next generation.
    """

    messages: dict[int, Message]
    missing: tuple[int, ...]
    unknown: tuple[int, ...]


def standing(state: State, rules: Rules, own: Message, now: float) -> Standing:
    """Of the current generation's members and of the others that are linked."""
    near = linked(state.peers, rules.index, now, rules.lost_after)
    messages = {
        index: own if index == rules.index else aged(state.peers[index].message, now - state.peers[index].received)
        for index in near
    }
    missing: list[int] = []
    unknown: list[int] = []
    for index, incarnation in state.committed.members:
        message = messages.get(index)
        if message is None:
            (missing if gone_from_view(state, rules, index, now) else unknown).append(index)
        elif not state.committed.has(index, message.incarnation) and incarnation:
            missing.append(index)
        elif _unsettled(message, state.committed):
            unknown.append(index)
    return Standing(messages, tuple(missing), tuple(unknown))


def gone_from_view(state: State, rules: Rules, index: int, now: float) -> bool:
    """Whether a node that is not linked has had its time; one never heard has it from the generation's begin."""
    return (
        index not in linked(state.peers, rules.index, now, rules.lost_after) and now - state.changed > rules.lost_after
    )


def _unsettled(message: Message, current: Generation) -> bool:
    """Whether ranks may be left there, or its cards are not looked at yet."""
    if message.committed.number != current.number:
        return True
    report = message.report
    return not report.stuck and (report.phase in (RUNNING, ENDING) or report.fit is None)


def fit_nodes(state: State, rules: Rules, view: Standing) -> tuple[int, ...]:
    """The nodes that could take part, in the order in which they are taken: members, then hosts and spares."""
    able = [index for index, message in sorted(view.messages.items()) if could_take_part(message, state.committed)]
    members = [index for index in state.committed.indexes if index in able]
    # Who leads comes first: it is linked with all of them.
    order = [rules.index, *members, *able]
    return all_linked(
        state.peers, rules.index, [index for index in dict.fromkeys(order) if index in able], rules.lost_after
    )


def could_take_part(message: Message, current: Generation) -> bool:
    """Whether a node that is heard has nothing that keeps it from the next generation."""
    report = message.report
    well = bool(report.fit) and not report.stuck and not report.leaving
    return well and message.committed.number == current.number and report.phase not in (RUNNING, ENDING)


def places_for(state: State, able: Sequence[int], view: Standing, left_out: Sequence[int]) -> tuple[Place, ...]:
    """Each node in the place that it has; in an empty one its host, where that is back, else the first spare."""
    willing = [index for index in able if index not in left_out]
    kept = [place[0] if place and place[0] in willing else None for place in state.committed.places]
    free = [index for index in willing if index not in kept]
    for position, index in enumerate(kept):
        if index is None and position in free:
            kept[position] = position
            free.remove(position)
    for position, index in enumerate(kept):
        if index is None and free:
            kept[position] = free.pop(0)
    return tuple(None if index is None else _member(index, view) for index in kept)


def _member(index: int, view: Standing) -> Member:
    return index, view.messages[index].incarnation


def all_done(state: State, rules: Rules, own: Message) -> bool:
    """Whether every member has said that all its ranks ended well; one that went silent since then counts."""
    for index, incarnation in state.committed.members:
        peer = state.peers.get(index)
        message = own if index == rules.index else peer.message if peer else None
        if message is None or message.incarnation != incarnation:
            return False
        if message.committed.number != state.committed.number or message.report.phase != DONE:
            return False
    return True


def all_run(current: Generation, view: Standing) -> bool:
    """Whether the ranks of every member are heard to run."""
    return current.kind == RUN and all(
        index in view.messages and view.messages[index].report.phase == RUNNING for index in current.indexes
    )


def is_member(state: State, rules: Rules) -> bool:
    """Whether this supervisor has ranks to run in the current generation."""
    return state.committed.kind == RUN and state.committed.has(rules.index, state.incarnation)


def leader(state: State, rules: Rules, now: float) -> int | None:
    """The first member that is heard and votes; None where none is."""
    near = linked(state.peers, rules.index, now, rules.lost_after)
    for index, _incarnation in state.committed.members:
        if index == rules.index and state.voter and state.committed.has(index, state.incarnation):
            return index
        if index in near and index in state.peers:
            message = state.peers[index].message
            if message.voter and state.committed.has(index, message.incarnation):
                return index
    return None
