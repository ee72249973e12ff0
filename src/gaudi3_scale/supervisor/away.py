# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes that say themselves that no supervisor listens there: their kernel refuses what is sent to its port.

That is a hint and no more: it may be about a supervisor that is not there yet. So such a node is asked at once, again
and again, and is taken for gone when it has only refused for a while. systemd then has ended what was left in the unit.
"""

from __future__ import annotations

from typing import Mapping

from gaudi3_scale.supervisor.state import Facts, Refusal, State

# Longer than systemd takes to start a supervisor again.
AWAY_S = 3.0
# A kernel refuses at most about once a second (icmp_ratelimit), and some of that is lost.
FRESH_S = 2.5


def refusals_after(state: State, facts: Facts, now: float) -> Mapping[int, Refusal]:
    """What is known of refusals: those of nodes that were heard since are forgotten."""
    if not facts.refused and not state.refused:
        return state.refused
    found = {
        index: refusal
        for index, refusal in state.refused.items()
        if now - refusal.last <= FRESH_S and not _heard_since(state, index, refusal.first)
    }
    for index in facts.refused:
        known = found.get(index)
        found[index] = Refusal(now if known is None else known.first, now)
    return found


def _heard_since(state: State, index: int, since: float) -> bool:
    peer = state.peers.get(index)
    return peer is not None and peer.received > since


def is_away(state: State, index: int, now: float) -> bool:
    """Whether it has refused for so long that nobody is to be waited for."""
    refusal = state.refused.get(index)
    return refusal is not None and refusal.last - refusal.first >= AWAY_S and now - refusal.last <= FRESH_S
