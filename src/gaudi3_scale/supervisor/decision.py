# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a supervisor does next: values in, values out. Nothing here waits, sends or touches a process.

Called for what came and several times a second. What happens to a generation, in this order: it is chosen; its members
start their ranks, each once a quorum knows of it; somebody sees a reason to end it (an interruption), which all take
over; the ranks of all that are heard are gone; the leader asks for the next one.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Sequence

from gaudi3_scale.supervisor.agreement import adopt, chosen, propose, take
from gaudi3_scale.supervisor.away import is_away, refusals_after
from gaudi3_scale.supervisor.events import events_between
from gaudi3_scale.supervisor.generation import END, FAILED, RUN, STOPPED, WAIT
from gaudi3_scale.supervisor.growth import standing_by
from gaudi3_scale.supervisor.interruptions import interruption_of
from gaudi3_scale.supervisor.lease import gone_by, grace_left, has_vote, holds_lease, reaches_quorum
from gaudi3_scale.supervisor.members import is_member, leader, places_to_fill, standing
from gaudi3_scale.supervisor.messages import (
    DONE,
    ENDING,
    GONE,
    GROWING,
    HANG,
    IDLE,
    LEAVING,
    RUNNING,
    Message,
    Ping,
    Report,
    short_failure,
)
from gaudi3_scale.supervisor.pace import slow_nodes
from gaudi3_scale.supervisor.state import Event, Facts, Order, Rules, State
from gaudi3_scale.supervisor.succession import successor
from gaudi3_scale.supervisor.view import heard, linked
from gaudi3_scale.supervisor.votes import Votes, first_votes
from gaudi3_scale.supervisor.words import asks_now, message_of

# So long a node that is to go waits for the others, beyond what their ranks may take.
FAREWELL_S = 5.0
# A node that has lost its votes waits so many times lost_after for a job that may be over.
BACK_PATIENCE = 4
# Of the time between two looks no more counts as time without the others: a node that was frozen listens first.
LOOKED_S = 1.0


def begin(rules: Rules, incarnation: int, votes: Votes | None, now: float) -> State:
    """The state of a supervisor that was just started, with what an earlier one has kept; None: that is lost."""
    if votes is None:
        votes = replace(first_votes(rules), remembers=incarnation)
    return State(
        incarnation,
        votes.committed,
        Report(),
        now,
        now,
        now,
        remembers=votes.remembers,
        bound_since=now if votes.incarnation else -math.inf,
        promised=votes.promised,
        accepted=votes.accepted,
        balloted=now,
    )


def advance(
    state: State, rules: Rules, facts: Facts, messages: Sequence[Message | Ping], now: float
) -> tuple[State, Order, list[Event]]:
    """One look at everything: the new state, what the processes are to do, and what people should be told."""
    before = state
    for message in messages:
        state = _hear(state, rules, message, now)
    state = _own(state, rules, facts, now)
    state = _watch(state, rules, facts, now)
    state = state.having(report=_report(state, rules, facts))
    seen = state
    state = _lead(state, rules, now)
    # What was agreed upon now is seen in our own worker group at once.
    state = state.having(report=_report(state, rules, facts))
    state = _leave(state, rules, facts, now)
    state, events = events_between(before, seen, state, rules, now)
    ask = asks_now(state, rules, now)
    if ask:
        state = state.having(asked={**state.asked, **dict.fromkeys(ask, now)})
    answer = tuple({message.index for message in messages if message.asks})
    return state, replace(_order(state, rules, facts, now), ask=ask, answer=answer), events


def _hear(state: State, rules: Rules, said: Message | Ping, now: float) -> State:
    if said.index == rules.index or not 0 <= said.index < len(rules.names):
        return state
    ack = said.acks[rules.index] if rules.index < len(said.acks) else None
    reached = state.sent.get(ack[1]) if ack is not None and ack[0] == state.incarnation else None
    peers = heard(state.peers, said, reached, now)
    if peers is state.peers:
        return state
    news = peers[said.index].message is not getattr(state.peers.get(said.index), "message", None)
    state = state.having(peers=peers)
    return _take_over(state, rules, peers[said.index].message, now) if news else state


def _take_over(state: State, rules: Rules, message: Message, now: float) -> State:
    """``state`` after what a message says beyond that its sender is there."""
    state = state.having(gone=gone_by(state, message))
    state = take(state, rules, message, now)
    if message.stop and not state.stop:
        state = state.having(stop=True, stopped=now)
    if (
        message.interruption is not None
        and message.interruption.generation == state.committed.number
        and state.interruption is None
    ):
        state = state.having(interruption=message.interruption, interrupted=now)
    if message.committed.number == state.committed.number and _is_member_message(state, message):
        state = _seen(state, message.report.steps)
    return state


def _seen(state: State, steps: Sequence[int | None]) -> State:
    """``state`` with the furthest step of the current generation."""
    furthest = max((step for step in (state.step, *steps) if step is not None), default=None)
    return state if furthest == state.step else state.having(step=furthest)


def _is_member_message(state: State, message: Message) -> bool:
    return state.committed.kind == RUN and state.committed.has(message.index, message.incarnation)


def _own(state: State, rules: Rules, facts: Facts, now: float) -> State:
    """What happened on this node itself."""
    if facts.terminated and facts.stop_requested and not state.stop:
        state = state.having(stop=True, stopped=now)
    if facts.terminated and not state.stopped:
        state = state.having(stopped=now)
    if is_member(state, rules) and facts.generation == state.committed.number:
        state = _seen(state, facts.steps)
    looked = min(now - state.looked, LOOKED_S)
    alone = 0.0 if reaches_quorum(state, rules, now) else state.alone + looked
    return state.having(refused=refusals_after(state, facts, now), looked=now, alone=alone)


def _watch(state: State, rules: Rules, facts: Facts, now: float) -> State:
    """Look for a reason to end the current generation."""
    if state.committed.kind != RUN or state.interruption is not None:
        return state
    own = message_of(state.having(report=_report(state, rules, facts)), rules, now)
    view = standing(state, rules, own, now)
    interruption = interruption_of(state, rules, facts, view, now)
    if interruption is not None:
        return state.having(interruption=interruption, interrupted=now)
    return state.having(slow=slow_nodes(state, rules, view, now), standing_by=standing_by(state, rules, view, now))


def _report(state: State, rules: Rules, facts: Facts) -> Report:
    """This node's worker group of the current generation, for itself and the others."""
    mine = is_member(state, rules) and facts.generation == state.committed.number
    failure = facts.failure if mine and not facts.alive else None
    return Report(
        phase=_phase(state, rules, facts, mine),
        fit=facts.fit,
        unfit=facts.unfit or ("processes of its ranks cannot be ended; reboot it" if facts.stuck else ""),
        stuck=facts.stuck,
        steps=facts.steps if mine else (),
        busy=facts.busy if mine else (),
        step_age=facts.step_age if mine else None,
        failure=short_failure(failure) if failure else None,
        failure_age=facts.failure_age if failure else 0.0,
        leaving=facts.terminated and not state.stop,
    )


def _phase(state: State, rules: Rules, facts: Facts, mine: bool) -> str:
    if mine and facts.succeeded:
        return DONE
    if facts.alive:
        return RUNNING if mine and state.interruption is None else ENDING
    if mine or (state.interruption is not None and is_member(state, rules)):
        return GONE
    return IDLE


def _lead(state: State, rules: Rules, now: float) -> State:
    """Take part in the agreement; as the leader, ask for what is wanted next."""
    own = message_of(state, rules, now)
    state = state.having(gone=_gone_now(state, own, now), leads=_leads(state, rules, own, now))
    if _is_to_lead(state, rules, now):
        wanted = successor(state, rules, own, now)
        if wanted is None and state.interruption is not None and state.waiting is None:
            state = state.having(waiting=now)
        # With one member each step is the answer to the one before.
        for _step in range(3):
            state = state if wanted is None else propose(state, rules, wanted, now)
    agreed = chosen(state, rules)
    return state if agreed is None else adopt(state, agreed, now)


def _is_to_lead(state: State, rules: Rules, now: float) -> bool:
    first = leader(state, rules, now)
    if first is None or first == rules.index:
        return first is not None
    # Who has begun a ballot goes on with it, unless another one sees more nodes: that one would have to wait until it
    # is given up.
    return state.promised[1] == rules.index and state.peers[first].message.leads <= state.leads


def _gone_now(state: State, own: Message, now: float) -> frozenset[int]:
    """The members whose ranks have ended, with this node's own and those of nodes where no supervisor is left."""
    gone = gone_by(state, own)
    if state.committed.kind == RUN and state.refused:
        away = [index for index in state.committed.indexes if index not in gone and is_away(state, index, now)]
        gone = gone.union(away) if away else gone
    return gone


def _leads(state: State, rules: Rules, own: Message, now: float) -> int:
    """What this node says of itself as a leader. While ranks run there is nothing to choose from."""
    if not has_vote(state, rules) or not reaches_quorum(state, rules, now):
        return 0
    chooses = state.committed.kind == WAIT or state.interruption is not None
    return 1 + (places_to_fill(state, rules, own, now) if chooses else 0)


def _leave(state: State, rules: Rules, facts: Facts, now: float) -> State:
    """Whether this supervisor is done, and with what outcome."""
    if state.exit is not None or facts.alive:
        return state
    current = state.committed
    if current.kind == END:
        near = linked(state.peers, rules.index, now, rules.lost_after) - {rules.index}
        all_know = all(state.peers[index].message.committed.number >= current.number for index in near)
        over = all_know or now - state.changed > rules.lost_after
        return state.having(exit=current.outcome, exit_reason=current.reason) if over else state
    if (facts.terminated or state.stop) and _has_waited(state, rules, now):
        reason = "the job was stopped" if state.stop else f"{rules.names[rules.index]} left the job"
        return state.having(exit=STOPPED, exit_reason=reason)
    patience = _patience(state, rules)
    if state.alone > patience:
        name = rules.names[rules.index]
        reason = f"{name} has not heard from most of the job's nodes for {patience:.0f} s; check its network"
        return state.having(exit=FAILED, exit_reason=reason)
    return state


def _patience(state: State, rules: Rules) -> float:
    """How long a node waits for the others. One that has lost its votes could begin nothing, and would only hold its
    port.
    """
    return (
        rules.join_timeout
        if has_vote(state, rules) or not state.remembers
        else min(rules.join_timeout, BACK_PATIENCE * rules.lost_after)
    )


def _has_waited(state: State, rules: Rules, now: float) -> bool:
    """Whether a node that is to go has given the others their time; they may want its vote on what comes next."""
    if not has_vote(state, rules) and not state.stop:
        return True
    others_agree = state.alone == 0.0
    return now - state.stopped > FAREWELL_S + (rules.stop_grace if others_agree else 0.0)


def _order(state: State, rules: Rules, facts: Facts, now: float) -> Order:
    current = facts.generation == state.committed.number
    if facts.alive:
        if current and state.interruption is None and state.committed.kind == RUN and state.exit is None:
            return Order()
        grace = _grace(state, rules, facts, now)
        return Order(end=True, grace=grace, stacks=state.interruption is not None and state.interruption.cause == HANG)
    starts = is_member(state, rules) and state.interruption is None and not current and state.exit is None
    return Order(run=state.committed) if starts and holds_lease(state, rules, now) else Order()


def _grace(state: State, rules: Rules, facts: Facts, now: float) -> float:
    # Of a generation that is over, or that the others may take for over at any moment, nobody waits for anything.
    if facts.generation != state.committed.number:
        return 0.0
    if not holds_lease(state, rules, now):
        return grace_left(state, rules, now)
    planned = state.stop or (state.interruption is not None and state.interruption.cause in (LEAVING, GROWING))
    return rules.stop_grace if planned else rules.failure_grace
