# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Why the ranks of the current generation are to end, as one node sees it; the others take its word."""

from __future__ import annotations

from .growth import growth
from .members import Standing, is_member, leader
from .messages import DONE, ISOLATED, LEAVING, NODE_LOST, RANK_FAILED, STOP, Halt
from .pace import hang
from .state import Facts, Rules, State
from .view import linked


def halt_of(state: State, rules: Rules, facts: Facts, view: Standing, now: float) -> Halt | None:
    """The reason that counts most; None where all is well."""
    number, name = state.committed.number, rules.names[rules.index]
    if state.stop:
        return Halt(number, STOP, rules.index, "the job was stopped")
    if not is_member(state, rules):
        return None
    if facts.generation == number and facts.rank_died:
        return Halt(number, RANK_FAILED, rules.index, f"a rank failed on {name}")
    if facts.terminated:
        return Halt(number, LEAVING, rules.index, f"{name} is going down")
    if state.quorum_heard < now and now - state.changed > rules.lease:
        return Halt(number, ISOLATED, rules.index, f"{name} does not hear most of the others any more")
    lost = _lost_member(state, rules, now)
    if lost is not None or leader(state, rules, now) != rules.index:
        return lost
    return hang(state, rules, view, facts.reports, now) or growth(state, rules, view, now)


def _lost_member(state: State, rules: Rules, now: float) -> Halt | None:
    near = linked(state.peers, rules.index, now, rules.lost_after)
    for index, incarnation in state.committed.members:
        peer = state.peers.get(index)
        number, name = state.committed.number, rules.names[index]
        if index == rules.index or (peer is not None and peer.message.report.phase == DONE):
            continue
        if peer is not None and peer.message.incarnation > incarnation:
            return Halt(number, NODE_LOST, index, f"the supervisor of {name} was started again")
        if index not in near and now - state.changed > rules.lost_after:
            return Halt(number, NODE_LOST, index, f"{name} was not heard for {rules.lost_after:.0f} s")
    return None
