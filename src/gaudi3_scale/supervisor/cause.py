# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Why a generation ended, as far as its leader can know, and what that means for a next one."""

from __future__ import annotations

import math
from typing import Mapping, Sequence

from gaudi3_scale.core._job.followers import first_with_others
from gaudi3_scale.core._job.reported_failure import LEFT, failure_sentence
from gaudi3_scale.supervisor.members import Standing
from gaudi3_scale.supervisor.messages import DONE, GROWING, HANG, ISOLATED, LEAVING, NODE_LOST, RANK_FAILED
from gaudi3_scale.supervisor.state import Rules, State

# Nodes came or went: nothing that the program did.
NODES_CHANGED = (NODE_LOST, ISOLATED, LEAVING, GROWING)


def first_failure(view: Standing, rules: Rules, now: float, members: Sequence[int] = ()) -> dict[str, object] | None:
    """What failed first among the nodes that are heard, with its ``host`` and a line for who followed; ages are
    compared, never clocks. ``members``: the nodes that had ranks.

    Of a node whose ranks have all ended well that is a failure only where ranks of another one have failed.
    """
    reports = {index: message.report for index, message in view.messages.items()}
    if all(report.failure is None or report.phase == DONE for report in reports.values()):
        return None
    reported = {
        rules.names[index]: {**report.failure, "time": now - view.failure_age(index)}
        for index, report in reports.items()
        if report.failure is not None
    }
    found = first_with_others(reported, [rules.names[index] for index in members if index in view.messages])
    if found is None:
        return None
    host, failure = found
    original = view.messages[rules.names.index(host)].report.failure or {}
    return {**original, "host": host, "others": failure["others"]}


def cause_may_show(
    state: State, rules: Rules, view: Standing, failure: Mapping[str, object] | None, now: float
) -> bool:
    """Whether ranks have only lost each other so far: the link or node that is to blame is not missed at once."""
    cause_is_known = view.missing or (failure is not None and failure.get("echo") == 0)
    failed = state.interruption is not None and state.interruption.cause == RANK_FAILED
    return failed and not cause_is_known and now - state.interrupted <= rules.lost_after


def went_silent_before(
    state: State, rules: Rules, view: Standing, failure: Mapping[str, object] | None, now: float
) -> bool:
    """Whether a member was lost before the first rank failed, or ranks only failed since they lost it."""
    if not view.missing or failure is None or failure.get("echo"):
        return bool(view.missing)
    age = view.failure_age(rules.names.index(str(failure["host"])))
    return any(_last_word(state, index) < now - age for index in view.missing)


def _last_word(state: State, index: int) -> float:
    """When a member was last heard; one that was never heard, or whose supervisor is another one now, has had none."""
    peer = state.peers.get(index)
    if peer is None or not state.committed.has(index, peer.message.incarnation):
        return -math.inf
    return peer.received


def why_it_ended(state: State, rules: Rules, view: Standing, failure: Mapping[str, object] | None) -> str:
    """One sentence, without its full stop: the nearest to a cause that is known."""
    names = [rules.names[index] for index in view.missing]
    if names and failure is None:
        return f"{' and '.join(names)} {'were' if len(names) > 1 else 'was'} lost"
    refused = [f"{rules.names[index]}: {view.messages[index].report.unfit}" for index in unfit_members(state, view)]
    failed = [] if failure is None else failure_sentence(str(failure["host"]), failure).splitlines()[:1]
    if failure is None or (state.interruption is not None and state.interruption.cause in (HANG, LEAVING, GROWING)):
        said = state.interruption.text if state.interruption else ""
        # Ranks wait for one that has ended well until they are taken for hung.
        left = failed if failure is not None and failure.get("echo") == LEFT else []
        return "; ".join([said or "the ranks were ended", *left, *refused])
    return failed[0]


def is_early(state: State, rules: Rules, view: Standing) -> bool:
    """Whether the program failed by itself soon after its start, and no further than before: it may do so again."""
    if state.is_further or view.missing or state.interruption is None or unfit_members(state, view):
        return False
    return state.interruption.cause == RANK_FAILED and not has_run(state, rules) and rules.min_runtime > 0


def has_run(state: State, rules: Rules) -> bool:
    """Whether the ranks of the current generation had run for min_runtime when their end was asked for."""
    return rules.min_runtime > 0 and state.interrupted - state.changed >= rules.min_runtime


def counts(state: State, view: Standing, failure: Mapping[str, object] | None) -> bool:
    """Whether max_restarts bounds a restart now: ranks failed or hung, or did not get further than any before them."""
    cause = state.interruption.cause if state.interruption is not None else ""
    nodes_changed = cause in NODES_CHANGED or (failure is None and bool(view.missing))
    return not (nodes_changed and state.is_further)


def cannot_begin(state: State, rules: Rules, view: Standing, failure: Mapping[str, object] | None) -> tuple[int, ...]:
    """The node, a spare for instance, on which a program failed before its first step that has made some elsewhere.

    Of a program that tells no steps: on which it failed early, though it has run for long before.
    """
    if state.step is not None or failure is None or failure.get("echo"):
        return ()
    if state.committed.step is None and not (state.committed.has_run and is_early(state, rules, view)):
        return ()
    return (rules.names.index(str(failure["host"])),)


def unfit_members(state: State, view: Standing) -> list[int]:
    """The members that are heard and cannot take part again, for their cards or for processes that do not end."""
    reports = {index: message.report for index, message in view.messages.items()}
    members = [index for index in state.committed.indexes if index in reports]
    return [index for index in members if reports[index].fit is False or reports[index].stuck]
