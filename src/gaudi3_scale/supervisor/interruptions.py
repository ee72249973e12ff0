# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Why the ranks of the current generation are to end, as one node sees it; the others take its word."""

from __future__ import annotations

from gaudi3_scale.supervisor.away import is_away
from gaudi3_scale.supervisor.growth import growth
from gaudi3_scale.supervisor.lease import has_vote, holds_lease
from gaudi3_scale.supervisor.members import Standing, is_member, leader
from gaudi3_scale.supervisor.messages import DONE, ISOLATED, LEAVING, NODE_LOST, RANK_FAILED, STOP, Interruption
from gaudi3_scale.supervisor.pace import hang
from gaudi3_scale.supervisor.state import Facts, Rules, State
from gaudi3_scale.supervisor.view import linked


def interruption_of(state: State, rules: Rules, facts: Facts, view: Standing, now: float) -> Interruption | None:
    """The reason that counts most; None where all is well."""
    number, name = state.committed.number, rules.names[rules.index]
    if state.stop:
        return Interruption(number, STOP, rules.index, "the job was stopped")
    if not is_member(state, rules):
        # One that was started again, or a witness, sees as well as a member that one of them is missing.
        return _lost_member(state, rules, now) if has_vote(state, rules) else None
    runs = facts.generation == number
    if runs and facts.rank_died:
        return Interruption(number, RANK_FAILED, rules.index, f"a rank failed on {name}")
    if facts.terminated:
        return Interruption(number, LEAVING, rules.index, f"{name} is going down")
    if runs and facts.alive and not holds_lease(state, rules, now):
        return Interruption(number, ISOLATED, rules.index, f"{name} no longer hears from most of the others")
    lost = _lost_member(state, rules, now)
    if lost is not None or leader(state, rules, now) != rules.index:
        return lost
    return hang(state, rules, view, facts.reports, now) or growth(state, rules, view, now)


def _lost_member(state: State, rules: Rules, now: float) -> Interruption | None:
    near = linked(state.peers, rules.index, now, rules.lost_after)
    number = state.committed.number
    for index, incarnation in state.committed.members:
        name = rules.names[index]
        if index == rules.index:
            if state.incarnation > incarnation:
                return Interruption(number, NODE_LOST, index, f"the supervisor of {name} was started again")
            continue
        peer = state.peers.get(index)
        if peer is not None and peer.message.report.phase == DONE:
            continue
        if peer is not None and peer.message.incarnation > incarnation:
            return Interruption(number, NODE_LOST, index, f"the supervisor of {name} was started again")
        if is_away(state, index, now):
            return Interruption(number, NODE_LOST, index, f"no supervisor runs on {name} any more")
        if index not in near and now - state.changed > rules.lost_after:
            return Interruption(number, NODE_LOST, index, f"{name} was not heard from for {rules.lost_after:.0f} s")
    return None
