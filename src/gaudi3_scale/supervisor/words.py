# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a supervisor says, and whom it asks for an answer."""

from __future__ import annotations

from gaudi3_scale.supervisor.agreement import is_there
from gaudi3_scale.supervisor.messages import Message
from gaudi3_scale.supervisor.state import Rules, State
from gaudi3_scale.supervisor.view import acks_of, link_age, links_of

# A link of which nothing came back for so many times tell_every is asked about, and so often.
ASK_AFTER = 2.5
ASK_S = 0.25


def message_of(state: State, rules: Rules, now: float, *, asks: bool = False) -> Message:
    """What this node tells all others now."""
    count = len(rules.names)
    return Message(
        index=rules.index,
        incarnation=state.incarnation,
        sequence=state.sequence,
        committed=state.committed,
        promised=state.promised,
        accepted=state.accepted,
        acks=acks_of(state.peers, count),
        links=links_of(state.peers, count, now),
        report=state.report,
        remembers=state.remembers,
        gone=state.gone,
        leads=state.leads,
        interruption=state.interruption,
        stop=state.stop,
        asks=asks,
    )


def tell(state: State, rules: Rules, now: float, *, asks: bool = False) -> tuple[State, Message]:
    """The next message, and the state that remembers when it was sent."""
    sequence = state.sequence + 1
    oldest = now - rules.lost_after
    sent = {number: at for number, at in state.sent.items() if at >= oldest}
    state = state.having(sequence=sequence, sent={**sent, sequence: now})
    return state, message_of(state, rules, now, asks=asks)


def asks_now(state: State, rules: Rules, now: float) -> tuple[int, ...]:
    """The nodes whose link is about to get old, or whose kernel refuses: datagrams get lost, and time is short."""
    asked = []
    # A leader takes only nodes that answer now.
    proposes = state.promised[1] == rules.index and state.accepted is None
    for index, peer in state.peers.items():
        age = link_age(peer, now)
        aged = age is not None and ASK_AFTER * rules.tell_every < age <= 2 * rules.lost_after
        unsure = proposes and age is not None and age <= rules.lost_after and not is_there(state, rules, index)
        if (aged or unsure or index in state.refused) and now - state.asked.get(index, -ASK_S) >= ASK_S:
            asked.append(index)
    return tuple(asked)
