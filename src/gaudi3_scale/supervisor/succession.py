# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What comes after the current generation: a run on the same nodes, on others, on fewer, or the end of the job.

Only the leader asks; the answer becomes one by agreement. None means: not yet.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Mapping, Sequence

from gaudi3_scale.supervisor.cause import (
    cannot_begin,
    cause_may_show,
    counts,
    first_failure,
    has_run,
    is_early,
    unfit_members,
    went_silent_before,
    why_it_ended,
)
from gaudi3_scale.supervisor.generation import END, FAILED, RUN, STOPPED, SUCCEEDED, WAIT, Generation, Place
from gaudi3_scale.supervisor.members import Standing, all_done, fit_nodes, places_for, standing
from gaudi3_scale.supervisor.messages import GROWING, Message
from gaudi3_scale.supervisor.pace import stragglers
from gaudi3_scale.supervisor.repeated import failed_at, is_repeated, why_no_more
from gaudi3_scale.supervisor.state import Rules, State

# While nobody new shows up at the start, a host is waited for so many times lost_after before a spare takes its place.
START_PATIENCE = 6
# So often in a row a program fails before it has run for min_runtime, then no more: what fails at once fails again.
# Where max_restarts allows fewer tries, that many are made.
MOST_EARLY_FAILURES = 3
# How argparse ends, "train.py: error: unrecognized arguments: --lr", and Click, "Error: No such option: --lr".
USAGE_STATUS, USAGE_ERROR = 2, re.compile(r"(?:[^\s:]+(?: [^\s:]+)*: error|Error): \S")
# Seconds before the first try after an early failure, twice as many before the next: what is missing may come.
EARLY_PAUSE_S = 5.0


def successor(state: State, rules: Rules, own: Message, now: float) -> Generation | None:
    """The generation that the leader wants next."""
    current = state.committed
    if current.kind == END:
        return None
    if current.kind == RUN and all_done(state, rules, own):
        return _end(current, SUCCEEDED, "all ranks ended well")
    if current.kind == RUN and state.interruption is None:
        return None
    view = standing(state, rules, own, now)
    if state.stop:
        return None if view.unknown else _end(current, STOPPED, "the job was stopped")
    if current.kind == WAIT:
        return _first_run(state, rules, view, now)
    if view.unknown:
        return None
    return _after_interruption(state, rules, view, now)


def _after_interruption(state: State, rules: Rules, view: Standing, now: float) -> Generation | None:
    """Of ranks that were ended, or ended by themselves, and are all gone."""
    current = state.committed
    failure = first_failure(view, rules, now, current.indexes)
    if cause_may_show(state, rules, view, failure, now):
        return None
    if went_silent_before(state, rules, view, failure, now):
        failure = None
    why = why_it_ended(state, rules, view, failure).rstrip(".")
    left_out = _left_out(state, rules, view, failure)
    if not state.is_further and refused_its_arguments(failure):
        return _end(current, FAILED, f"{why}; a program that refuses its arguments is not started again", failure)
    if failure is not None and is_repeated(state, rules, view, failure, left_out):
        return _end(current, FAILED, f"{why}; {why_no_more(failure)}", failure)
    early = _early_failures(state, rules, view)
    if early >= MOST_EARLY_FAILURES:
        return _end(current, FAILED, f"{why}; {_of_early(early, rules)}: it is not started again", failure)
    if current.restarts >= rules.max_restarts and counts(state, view, failure):
        return _end(current, FAILED, f"{why}; max_restarts allows {_times(rules.max_restarts)}", failure)
    if early and now - state.interrupted < EARLY_PAUSE_S * 2 ** (early - 1):
        return None
    return _next_run(state, rules, view, why, failure, now)


def refused_its_arguments(failure: Mapping[str, object] | None) -> bool:
    """Whether the first rank ended with a usage error, however long its imports took before it: the next would too."""
    if failure is None or failure.get("exit_code") != USAGE_STATUS:
        return False
    lines = failure.get("lines")
    said = [str(failure.get("message")), *(map(str, lines[-1:]) if isinstance(lines, (list, tuple)) else ())]
    return any(USAGE_ERROR.match(line) for line in said)


def _early_failures(state: State, rules: Rules, view: Standing) -> int:
    """How many generations have failed early, one after the other, the current one among them."""
    return state.committed.early_failures + 1 if is_early(state, rules, view) else 0


def _of_early(count: int, rules: Rules) -> str:
    times = "once" if count == 1 else f"{count} times in a row"
    return f"the program failed {times} before it had run for {rules.min_runtime:.0f} s"


def _first_run(state: State, rules: Rules, view: Standing, now: float) -> Generation | None:
    """All hosts, or what can be had once they have had their time."""
    if any(index in view.messages for index in view.unknown):
        return None
    refused = unfit_members(state, view)
    absent = [index for index in state.committed.indexes if index not in view.messages]
    able = fit_nodes(state, rules, view)
    places = places_for(state, able, view)
    if now < _begins(state, rules, view, places, able, absent):
        return None
    reason = _of_absent(rules, view, refused, absent)
    if not _enough(places, rules):
        return _end(state.committed, FAILED, _too_few(rules, places, reason, now - state.started))
    return replace(
        state.committed,
        number=1,
        kind=RUN,
        places=places,
        witness=_witness(state, view),
        reason=reason or "the job was started",
    )


def _begins(
    state: State, rules: Rules, view: Standing, places: Sequence[Place], able: Sequence[int], absent: Sequence[int]
) -> float:
    """When the first run does with these places. A launch reaches many nodes one after another."""
    settled = {*able, *(index for index, message in view.messages.items() if message.report.fit is False)}
    nobody_else_can_come = len(settled & set(rules.ranked)) == len(rules.ranked)
    if nobody_else_can_come or (None not in places and settled.issuperset(range(rules.hosts))):
        return state.started
    latest = state.started + rules.join_timeout
    complete = None not in places or (not absent and _enough(places, rules))
    newest = max([state.started, *(peer.first for peer in state.peers.values())])
    return min(newest + START_PATIENCE * rules.lost_after, latest) if complete else latest


def _next_run(
    state: State, rules: Rules, view: Standing, why: str, failure: Mapping[str, object] | None, now: float
) -> Generation | None:
    left_out = _left_out(state, rules, view, failure)
    places = places_for(state, fit_nodes(state, rules, view, left_out), view)
    if not _enough(places, rules):
        waited = 0.0 if state.waiting is None else now - state.waiting
        if waited < rules.join_timeout:
            return None
        return _end(state.committed, FAILED, _too_few(rules, places, why, waited), failure)
    current = state.committed
    early = _early_failures(state, rules, view)
    most = min(MOST_EARLY_FAILURES, early + rules.max_restarts - current.restarts)
    place = failed_at(state, failure)
    twice = ", twice at the same place do, too" if place and most > 2 and rules.min_runtime > 0 else ""
    again = f"; {_of_early(early, rules)}, and is tried again ({most} times end the job{twice})"
    grows = state.interruption is not None and state.interruption.cause == GROWING
    return replace(
        current,
        number=current.number + 1,
        kind=RUN,
        places=places,
        witness=_witness(state, view),
        restarts=current.restarts + int(counts(state, view, failure)),
        early_failures=early,
        has_run=current.has_run or has_run(state, rules),
        left_out=left_out,
        step=state.step if state.is_further else current.step,
        failed_at=place,
        grown=(*current.grown, state.interruption.index) if grows and state.interruption is not None else current.grown,
        reason=f"{why}{again}" if early else why,
    )


def _left_out(state: State, rules: Rules, view: Standing, failure: Mapping[str, object] | None) -> tuple[int, ...]:
    """Nodes that are slower than the others or cannot begin, as far as enough are left without them."""
    slow = stragglers(state, state.interrupted) if rules.exclude_stragglers else ()
    kept: tuple[int, ...] = ()
    for index in (*state.committed.left_out, *slow, *cannot_begin(state, rules, view, failure)):
        tried = (*kept, index)
        if index not in kept and _enough(places_for(state, fit_nodes(state, rules, view, tried), view), rules):
            kept = tried
    return kept


def _witness(state: State, view: Standing) -> Place:
    """The one that there is, in the life that it has now: where that has lost its votes, it may cast new ones."""
    if state.committed.witness is None:
        return None
    index = state.committed.witness[0]
    message = view.messages.get(index)
    return state.committed.witness if message is None else (index, message.incarnation)


def _enough(places: Sequence[Place], rules: Rules) -> bool:
    return sum(place is not None for place in places) >= rules.min_nodes


def _of_absent(rules: Rules, view: Standing, refused: Sequence[int], absent: Sequence[int]) -> str:
    said = [f"{rules.names[index]} is not fit: {view.messages[index].report.unfit}" for index in refused]
    return "; ".join([*said, *(f"{rules.names[index]} did not show up" for index in absent)])


def _too_few(rules: Rules, places: Sequence[Place], why: str, waited: float) -> str:
    count = sum(place is not None for place in places)
    return (
        f"{why}; after {min(waited, rules.join_timeout):.0f} s {count} of the nodes can take part and the job wants "
        f"{rules.min_nodes}: repair them, name spares, or lower min_nodes"
    )


def _times(count: int) -> str:
    return "no restart" if count == 0 else "1 restart" if count == 1 else f"{count} restarts"


def _end(current: Generation, outcome: str, reason: str, failure: Mapping[str, object] | None = None) -> Generation:
    return replace(current, number=current.number + 1, kind=END, outcome=outcome, reason=reason, failure=failure)
