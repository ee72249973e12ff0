# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Who can take part in the next generation, and in which place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Sequence

from gaudi3_scale.supervisor.away import is_away
from gaudi3_scale.supervisor.generation import RUN, Generation, Member, Place
from gaudi3_scale.supervisor.linked_set import largest_linked
from gaudi3_scale.supervisor.messages import DONE, ENDING, RUNNING, Message
from gaudi3_scale.supervisor.state import Rules, State
from gaudi3_scale.supervisor.view import linked, links_among


@dataclass(frozen=True)
class Standing:
    """How the nodes look from here. ``messages`` are those of linked nodes and this one's own; ``since``: how many
    seconds ago each came.

    ``missing``: members with which no word goes both ways, or whose supervisor was started again. ``unknown``: members
    of which that is not yet sure, or that have not done yet what comes before a next generation.
    """

    messages: Mapping[int, Message]
    since: Mapping[int, float]
    missing: tuple[int, ...]
    unknown: tuple[int, ...]

    def step_age(self, index: int) -> float | None:
        """Seconds since a step came last on that node; None where none did."""
        age = self.messages[index].report.step_age
        return None if age is None else age + self.since[index]

    def failure_age(self, index: int) -> float:
        """Seconds since a rank failed there."""
        return self.messages[index].report.failure_age + self.since[index]


def standing(state: State, rules: Rules, own: Message, now: float) -> Standing:
    """Of the current generation's members and of the others that are linked."""
    near = linked(state.peers, rules.index, now, rules.lost_after)
    messages = {index: own if index == rules.index else state.peers[index].message for index in near}
    since = {index: 0.0 if index == rules.index else now - state.peers[index].received for index in near}
    missing: list[int] = []
    unknown: list[int] = []
    for index, incarnation in state.committed.members:
        message = messages.get(index)
        if message is None:
            (missing if _gone_from_view(state, rules, index, now) else unknown).append(index)
        elif is_away(state, index, now):
            missing.append(index)
        elif incarnation and message.incarnation != incarnation:
            # Its cards are looked at; if they are well, it can take part again.
            awaited = message.report.fit is None and now - state.interrupted <= rules.lost_after
            (unknown if awaited else missing).append(index)
        elif _unsettled(message, state.committed):
            unknown.append(index)
    return Standing(messages, since, tuple(missing), tuple(unknown))


def _gone_from_view(state: State, rules: Rules, index: int, now: float) -> bool:
    """Whether a node that is not linked has had its time, which begins with the generation, or is known to be gone."""
    if state.committed.kind == RUN and (index in state.gone or is_away(state, index, now)):
        return True
    return now - state.changed > rules.lost_after


def _unsettled(message: Message, current: Generation) -> bool:
    """Whether ranks may be left there, or its cards are not looked at yet."""
    if message.committed.number != current.number:
        return True
    report = message.report
    return not report.stuck and (report.phase in (RUNNING, ENDING) or report.fit is None)


def fit_nodes(state: State, rules: Rules, view: Standing, left_out: Sequence[int] = ()) -> tuple[int, ...]:
    """The nodes that go on together, in the order in which they are taken: members, then hosts and spares."""
    able = [index for index in rules.ranked if index in view.messages and index not in left_out]
    able = [index for index in able if could_take_part(view.messages[index], state.committed)]
    return together(state, rules, able)


def together(state: State, rules: Rules, able: Sequence[int]) -> tuple[int, ...]:
    """Of ``able``, which are all linked with this node, the most that are linked with each other."""
    members = [index for index in state.committed.indexes if index in able]
    return largest_linked([*members, *able], links_among(state.peers, rules.index, able, rules.lost_after), rules.hosts)


def could_take_part(message: Message, current: Generation) -> bool:
    """Whether a node that is heard has nothing that keeps it from the next generation."""
    return bool(message.report.fit) and _may_come(message, current) and message.report.phase not in (RUNNING, ENDING)


def _may_come(message: Message, current: Generation) -> bool:
    """Whether it could take part once its ranks have ended and its cards were looked at."""
    report = message.report
    well = report.fit is not False and not report.stuck and not report.leaving
    return well and message.committed.number == current.number


def places_to_fill(state: State, rules: Rules, own: Message, now: float) -> int:
    """With how many nodes this one could go on, as far as it sees; the node that sees most is to lead."""
    near = linked(state.peers, rules.index, now, rules.lost_after)
    messages = {index: own if index == rules.index else state.peers[index].message for index in near}
    able = [index for index in rules.ranked if index in messages and _may_come(messages[index], state.committed)]
    return min(len(together(state, rules, able)), rules.hosts)


def places_for(state: State, able: Sequence[int], view: Standing) -> tuple[Place, ...]:
    """Each node in the place that it has; in an empty one its host, where that is back, else the first spare."""
    free = list(able)
    kept = [place[0] if place and place[0] in free else None for place in state.committed.places]
    free = [index for index in free if index not in kept]
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
    """Of the voters that are linked the one that could go on with most nodes, the first of them; None where none
    reaches a quorum.
    """
    near = linked(state.peers, rules.index, now, rules.lost_after)
    best: tuple[int, int | None] = (0, None)
    for index in state.committed.voters:
        if index == rules.index:
            leads = state.leads
        elif index in near and state.peers[index].message.committed.number == state.committed.number:
            message = state.peers[index].message
            leads = message.leads if state.committed.has_vote(index, message.remembers) else 0
        else:
            leads = 0
        if leads > best[0]:
            best = (leads, index)
    return best[1]
