# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Growing again: a job that runs on fewer nodes than it was given takes in one that has come back, or a spare."""

from __future__ import annotations

from gaudi3_scale.supervisor.members import Standing, all_run, could_take_part
from gaudi3_scale.supervisor.messages import GROWING, Interruption
from gaudi3_scale.supervisor.state import Rules, State
from gaudi3_scale.supervisor.view import links_among


def standing_by(state: State, rules: Rules, view: Standing, now: float) -> dict[int, float]:
    """By index, since when a node without ranks has been fit, and in touch with all that have some."""
    members = set(state.committed.indexes)
    others = [index for index in rules.ranked if index in view.messages and index not in members]
    able = [index for index in others if could_take_part(view.messages[index], state.committed)]
    if not able:
        return {}
    among = links_among(state.peers, rules.index, [*members, *able], rules.lost_after)
    able = [index for index in able if members <= among[index]]
    return {index: state.standing_by.get(index, now) for index in able}


def growth(state: State, rules: Rules, view: Standing, now: float) -> Interruption | None:
    """The interruption of ranks that are to begin again with a node more.

    Only once they have got further than any before them: however often nodes come and go, the job gets on.
    """
    current = state.committed
    if not rules.grow_after or None not in current.places or not state.is_further or not all_run(current, view):
        return None
    for index, since in sorted(state.standing_by.items()):
        wanted = patience(rules, current.grown.count(index))
        if index not in current.left_out and now - since >= wanted:
            return Interruption(current.number, GROWING, index, f"{rules.names[index]} has stood by for {wanted:.0f} s")
    return None


def patience(rules: Rules, times: int) -> float:
    """Seconds for which a node has to stand by; for one that has left the job again, twice as long each time."""
    return rules.grow_after * 2.0**times
