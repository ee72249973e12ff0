# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether trying again can help: not where the program has failed twice in a row at the same place, by its own fault.

The place of one failure is agreed upon with the generation after it, so whoever leads then knows it. What lies in a
node, a card, a link or a limit is no such place, nor is what is not known: that goes on as max_restarts says.
"""

from __future__ import annotations

from typing import Collection, Mapping

from gaudi3_scale.core._job.error_table import PROGRAM, row_named
from gaudi3_scale.core._job.failure_kinds import LIES
from gaudi3_scale.core._job.reported_failure import CAUSE
from gaudi3_scale.supervisor.cause import has_run, unfit_members
from gaudi3_scale.supervisor.members import Standing
from gaudi3_scale.supervisor.messages import RANK_FAILED, TEXT_LENGTH
from gaudi3_scale.supervisor.state import Rules, State


def place_of(failure: Mapping[str, object] | None) -> str:
    """``ValueError in train.py line 12``, where the program failed there by its own fault; else "" ."""
    if failure is None or failure.get("echo") != CAUSE or not failure.get("exception"):
        return ""
    row, at = row_named(failure.get("row")), str(failure.get("at") or "")
    lies = row.lies if row is not None else LIES.get(str(failure.get("kind")), "")
    if lies != PROGRAM or not at:
        return ""
    file = at.partition(", in ")[0].replace(", line", " line")
    # Peers take no longer one.
    return f"{failure['exception']} in {file}"[:TEXT_LENGTH]


def failed_at(state: State, failure: Mapping[str, object] | None) -> str:
    """The place of the failure that ends the current generation; "" for another end."""
    is_of_rank = state.interruption is not None and state.interruption.cause == RANK_FAILED
    return place_of(failure) if is_of_rank else ""


def is_repeated(
    state: State, rules: Rules, view: Standing, failure: Mapping[str, object] | None, left_out: Collection[int]
) -> bool:
    """Whether the program failed where it had failed right before, and no further. ``left_out``: the nodes without
    which it would go on; that it fails on one of them alone is that node's fault.

    With a min_runtime of 0 only max_restarts counts. Of a program that tells no steps and has run for so long, nobody
    knows how far it got.
    """
    place = failed_at(state, failure)
    if not place or place != state.committed.failed_at or state.is_further or rules.min_runtime <= 0:
        return False
    if view.missing or unfit_members(state, view) or not set(left_out) <= set(state.committed.left_out):
        return False
    return state.step is not None or not has_run(state, rules)


def why_no_more(failure: Mapping[str, object]) -> str:
    """The reason in words, for a failure that was repeated."""
    return (
        f"it failed twice at the same place, {place_of(failure)} of rank {failure.get('rank')}, and got no further: "
        "trying again cannot help, fix it and launch it again"
    )
