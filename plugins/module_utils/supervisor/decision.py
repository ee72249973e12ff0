# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a supervisor does next: values in, values out. Nothing here waits, sends or touches a process.

Called for each message that comes and several times a second. What happens to a generation, in this order: it is
chosen; its members start their ranks; somebody sees a reason to end it (a halt), which all take over; the ranks of all
that are heard are gone; the leader, who is the first member that is heard, asks for the next one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Sequence

from .agreement import adopt, chosen, propose, take
from .events import events_between
from .generation import END, FAILED, RUN, STOPPED, first_generation
from .growth import standing_by
from .halts import halt_of
from .members import is_member, leader, standing
from .messages import (
    DONE,
    ENDING,
    GONE,
    GROWING,
    HANG,
    IDLE,
    ISOLATED,
    LEAVING,
    RUNNING,
    Message,
    Report,
    short_failure,
)
from .pace import slow_nodes
from .state import Event, Facts, Order, Rules, State, message_of
from .succession import successor
from .view import heard, linked

# Nobody can use a checkpoint of ranks that have lost the others, who may go on without them.
ISOLATED_GRACE_S = 1.0
# So long a node that is to go waits for the others, beyond what their ranks may take.
FAREWELL_S = 5.0
# A node that is back waits so many times lost_after for a job that may be over.
BACK_PATIENCE = 4


def begin(rules: Rules, incarnation: int, voter: bool, now: float) -> State:
    """The state of a supervisor that was just started; ``voter`` False where one ran here for this launch before."""
    return State(incarnation, first_generation(rules.hosts), Report(), now, now, now, voter)


def advance(
    state: State, rules: Rules, facts: Facts, messages: Sequence[Message], now: float
) -> tuple[State, Order, list[Event]]:
    """One look at everything: the new state, what the processes are to do, and what people should be told."""
    before = state
    for message in messages:
        state = _hear(state, rules, message, now)
    state = _own(state, rules, facts, now)
    state = _watch(state, rules, facts, now)
    state = replace(state, report=_report(state, rules, facts))
    seen = state
    state = _lead(state, rules, now)
    # What was agreed upon now is seen in our own share at once.
    state = replace(state, report=_report(state, rules, facts))
    state = _leave(state, rules, facts, now)
    state, events = events_between(before, seen, state, rules, now)
    return state, _order(state, rules, facts), events


def _hear(state: State, rules: Rules, message: Message, now: float) -> State:
    if message.index == rules.index or not 0 <= message.index < len(rules.names):
        return state
    peers = heard(state.peers, message, now)
    if peers is state.peers:
        return state
    state = take(replace(state, peers=peers), message, now)
    if message.stop and not state.stop:
        state = replace(state, stop=True, stopped=now)
    if message.halt is not None and message.halt.generation == state.committed.number and state.halt is None:
        state = replace(state, halt=message.halt, halted=now)
    if message.committed.number == state.committed.number and _is_member_message(state, message):
        state = _seen(state, message.report.steps)
    return state


def _seen(state: State, steps: Sequence[int | None]) -> State:
    """``state`` with the furthest step of the current generation."""
    furthest = max((step for step in (state.step, *steps) if step is not None), default=None)
    return state if furthest == state.step else replace(state, step=furthest)


def _is_member_message(state: State, message: Message) -> bool:
    return state.committed.kind == RUN and state.committed.has(message.index, message.incarnation)


def _own(state: State, rules: Rules, facts: Facts, now: float) -> State:
    """What happened on this node itself."""
    if facts.terminated and facts.stop_requested and not state.stop:
        state = replace(state, stop=True, stopped=now)
    if facts.terminated and not state.stopped:
        state = replace(state, stopped=now)
    if is_member(state, rules) and facts.generation == state.committed.number:
        state = _seen(state, facts.steps)
    if state.committed.is_quorum(_voters(state, rules, now)):
        state = replace(state, quorum_heard=now)
    return state


def _voters(state: State, rules: Rules, now: float) -> list[int]:
    """The members that could still agree on something with this node, itself among them."""
    near = linked(state.peers, rules.index, now, rules.lease) - {rules.index}
    votes = {index: (state.peers[index].message.incarnation, state.peers[index].message.voter) for index in near}
    votes[rules.index] = (state.incarnation, state.voter)
    return [index for index, (incarnation, voter) in votes.items() if voter and state.committed.has(index, incarnation)]


def _watch(state: State, rules: Rules, facts: Facts, now: float) -> State:
    """Look for a reason to end the current generation."""
    if state.committed.kind != RUN or state.halt is not None:
        return state
    own = message_of(replace(state, report=_report(state, rules, facts)), rules, 0, ())
    view = standing(state, rules, own, now)
    halt = halt_of(state, rules, facts, view, now)
    if halt is not None:
        return replace(state, halt=halt, halted=now)
    return replace(state, slow=slow_nodes(state, rules, view, now), standing_by=standing_by(state, rules, view, now))


def _report(state: State, rules: Rules, facts: Facts) -> Report:
    """This node's share of the current generation, for itself and the others."""
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
        return RUNNING if mine and state.halt is None else ENDING
    if mine or (state.halt is not None and is_member(state, rules)):
        return GONE
    return IDLE


def _lead(state: State, rules: Rules, now: float) -> State:
    """Take part in the agreement; as the leader, ask for what is wanted next."""
    own = message_of(state, rules, 0, ())
    if leader(state, rules, now) == rules.index:
        wanted = successor(state, rules, own, now)
        if wanted is None and state.halt is not None and state.waiting is None:
            state = replace(state, waiting=now)
        # With one member each step is the answer to the one before.
        for _step in range(3):
            state = state if wanted is None else propose(state, rules, wanted, now)
    agreed = chosen(state, rules)
    return state if agreed is None else adopt(state, agreed, now)


def _leave(state: State, rules: Rules, facts: Facts, now: float) -> State:
    """Whether this supervisor is done, and with what outcome."""
    if state.exit is not None or facts.alive:
        return state
    current = state.committed
    if current.kind == END:
        near = linked(state.peers, rules.index, now, rules.lost_after) - {rules.index}
        all_know = all(state.peers[index].message.committed.number >= current.number for index in near)
        over = all_know or now - state.changed > rules.lost_after
        return replace(state, exit=current.outcome, exit_reason=current.reason) if over else state
    if (facts.terminated or state.stop) and _has_waited(state, rules, now):
        reason = "the job was stopped" if state.stop else f"{rules.names[rules.index]} left the job"
        return replace(state, exit=STOPPED, exit_reason=reason)
    alone, patience = now - max(state.quorum_heard, state.started), _patience(state, rules)
    if alone > patience:
        name = rules.names[rules.index]
        reason = f"{name} has not heard most of the job's nodes for {patience:.0f} s; look at its network"
        return replace(state, exit=FAILED, exit_reason=reason)
    return state


def _patience(state: State, rules: Rules) -> float:
    """How long a node waits for the others. One that has crashed and is back may belong to a job that is long over:
    it has no vote, could begin nothing, and would only hold its port.
    """
    return rules.join_timeout if state.voter else min(rules.join_timeout, BACK_PATIENCE * rules.lost_after)


def _has_waited(state: State, rules: Rules, now: float) -> bool:
    """Whether a node that is to go has given the others their time; they may want its vote on what comes next."""
    wanted = state.committed.has(rules.index, state.incarnation)
    if not wanted and not state.stop:
        return True
    others_agree = state.quorum_heard >= now
    return now - state.stopped > FAREWELL_S + (rules.stop_grace if others_agree else 0.0)


def _order(state: State, rules: Rules, facts: Facts) -> Order:
    if facts.alive:
        stays = facts.generation == state.committed.number and state.halt is None and state.committed.kind == RUN
        if stays and state.exit is None:
            return Order()
        return Order(end=True, grace=_grace(state, rules), stacks=state.halt is not None and state.halt.cause == HANG)
    starts = is_member(state, rules) and state.halt is None and facts.generation != state.committed.number
    return Order(run=state.committed) if starts and state.exit is None else Order()


def _grace(state: State, rules: Rules) -> float:
    if state.halt is not None and state.halt.cause == ISOLATED:
        return ISOLATED_GRACE_S
    planned = state.stop or (state.halt is not None and state.halt.cause in (LEAVING, GROWING))
    return rules.stop_grace if planned else rules.failure_grace
