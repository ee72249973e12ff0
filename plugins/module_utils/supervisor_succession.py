# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What comes after the current generation: a run on the same nodes, on others, on fewer, or the end of the job.

Only the leader asks; the answer becomes one by agreement. None means: not yet.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, Sequence

from .job_failure import failure_sentence, first_failure_of
from .supervisor_generation import END, FAILED, RUN, STOPPED, SUCCEEDED, WAIT, Generation, Place
from .supervisor_members import Standing, all_done, fit_nodes, places_for, standing
from .supervisor_messages import HANG, ISOLATED, LEAVING, NODE_LOST, RANK_FAILED, Message
from .supervisor_pace import stragglers
from .supervisor_state import Rules, State

# A host that has not shown up at the start is waited for so many times lost_after before a spare takes its place.
START_PATIENCE = 4
# Causes that are not the program's: going on is worth it though no step was made.
NOT_THE_PROGRAM = (NODE_LOST, ISOLATED, HANG, LEAVING)


def successor(state: State, rules: Rules, own: Message, now: float) -> Generation | None:
    """The generation that the leader wants next."""
    current = state.committed
    if current.kind == END:
        return None
    if current.kind == RUN and all_done(state, rules, own):
        return _end(current, SUCCEEDED, "all ranks ended well")
    if current.kind == RUN and state.halt is None:
        return None
    view = standing(state, rules, own, now)
    if state.stop:
        return None if view.unknown else _end(current, STOPPED, "the job was stopped")
    if current.kind == WAIT:
        return _first_run(state, rules, view, now)
    if view.unknown:
        return None
    failure = first_failure(view, rules, now)
    if _cause_may_show(state, rules, view, failure, now):
        return None
    why = _why(state, rules, view, failure)
    if _is_final(state, view, failure):
        return _end(current, FAILED, why, failure)
    if current.restarts >= rules.max_restarts:
        return _end(current, FAILED, f"{why}; max_restarts allows {_times(rules.max_restarts)}", failure)
    return _next_run(state, rules, view, why, failure, now)


def _cause_may_show(
    state: State, rules: Rules, view: Standing, failure: Mapping[str, object] | None, now: float
) -> bool:
    """Whether ranks have only lost each other so far: the link or node that is to blame is not missed at once."""
    cause_is_known = view.missing or (failure is not None and failure.get("echo") == 0)
    failed = state.halt is not None and state.halt.cause == RANK_FAILED
    return failed and not cause_is_known and now - state.halted <= rules.lost_after


def _first_run(state: State, rules: Rules, view: Standing, now: float) -> Generation | None:
    """All hosts, or what can be had once they have had their time."""
    if any(index in view.messages for index in view.unknown):
        return None
    refused = _unfit_members(state, view)
    absent = [index for index in state.committed.indexes if index not in view.messages]
    able = fit_nodes(state, rules, view)
    places = places_for(state, able, view, ())
    if now - state.started < _patience(rules, view, places, able, absent):
        return None
    reason = _of_absent(rules, view, refused, absent)
    if not _enough(places, rules):
        return _end(state.committed, FAILED, _too_few(rules, places, reason))
    return replace(state.committed, number=1, kind=RUN, places=places, reason=reason or "the job was started")


def _patience(
    rules: Rules, view: Standing, places: Sequence[Place], able: Sequence[int], absent: Sequence[int]
) -> float:
    """Seconds from the start until the first run does with these places."""
    settled = {*able, *(index for index, message in view.messages.items() if message.report.fit is False)}
    nobody_else_can_come = len(settled) == len(rules.names)
    if nobody_else_can_come or (None not in places and settled.issuperset(range(rules.hosts))):
        return 0.0
    complete = None not in places or (not absent and _enough(places, rules))
    return min(START_PATIENCE * rules.lost_after, rules.join_timeout) if complete else rules.join_timeout


def _next_run(
    state: State, rules: Rules, view: Standing, why: str, failure: Mapping[str, object] | None, now: float
) -> Generation | None:
    able = fit_nodes(state, rules, view)
    left_out = _left_out(state, rules, able, view)
    places = places_for(state, able, view, left_out)
    if not _enough(places, rules):
        waited = 0.0 if state.waiting is None else now - state.waiting
        if waited < rules.join_timeout:
            return None
        return _end(state.committed, FAILED, _too_few(rules, places, why), failure)
    current = state.committed
    return replace(
        current,
        number=current.number + 1,
        kind=RUN,
        places=places,
        restarts=current.restarts + 1,
        left_out=left_out,
        reason=why,
    )


def _left_out(state: State, rules: Rules, able: Sequence[int], view: Standing) -> tuple[int, ...]:
    """Nodes that are slower than the others, as far as enough are left without them."""
    if not rules.exclude_stragglers:
        return ()
    kept: tuple[int, ...] = ()
    for index in (*state.committed.left_out, *stragglers(state, state.halted)):
        tried = (*kept, index)
        if index not in kept and _enough(places_for(state, able, view, tried), rules):
            kept = tried
    return kept


def _enough(places: Sequence[Place], rules: Rules) -> bool:
    return sum(place is not None for place in places) >= rules.min_nodes


def first_failure(view: Standing, rules: Rules, now: float) -> dict[str, object] | None:
    """What failed first among the nodes that are heard, with its ``host``; ages are compared, never clocks."""
    told = {
        rules.names[index]: {**message.report.failure, "time": now - message.report.failure_age}
        for index, message in view.messages.items()
        if message.report.failure is not None
    }
    found = first_failure_of(told)
    if found is None:
        return None
    original = view.messages[rules.names.index(found[0])].report.failure or {}
    return {**original, "host": found[0]}


def _is_final(state: State, view: Standing, failure: Mapping[str, object] | None) -> bool:
    """Whether another try would end the same way: the program failed by itself before its first step."""
    if state.progressed or view.missing or state.halt is None or _unfit_members(state, view):
        return False
    by_itself = failure is not None and failure.get("echo") == 0
    return state.halt.cause == RANK_FAILED or (by_itself and state.halt.cause not in NOT_THE_PROGRAM)


def _why(state: State, rules: Rules, view: Standing, failure: Mapping[str, object] | None) -> str:
    """One sentence, without its full stop: the nearest to a cause that is known."""
    names = [rules.names[index] for index in view.missing]
    if names and (failure is None or failure.get("echo")):
        return f"{' and '.join(names)} {'were' if len(names) > 1 else 'was'} lost"
    refused = [f"{rules.names[index]}: {view.messages[index].report.unfit}" for index in _unfit_members(state, view)]
    if (state.halt is not None and state.halt.cause in (HANG, LEAVING)) or failure is None:
        said = state.halt.text if state.halt else ""
        return "; ".join([said or "the ranks were ended", *refused])
    return failure_sentence(str(failure["host"]), failure).splitlines()[0]


def _unfit_members(state: State, view: Standing) -> list[int]:
    reports = {index: message.report for index, message in view.messages.items()}
    members = [index for index in state.committed.indexes if index in reports]
    return [index for index in members if reports[index].fit is False or reports[index].stuck]


def _of_absent(rules: Rules, view: Standing, refused: Sequence[int], absent: Sequence[int]) -> str:
    said = [f"{rules.names[index]} is not fit: {view.messages[index].report.unfit}" for index in refused]
    return "; ".join([*said, *(f"{rules.names[index]} did not show up" for index in absent)])


def _too_few(rules: Rules, places: Sequence[Place], why: str) -> str:
    count = sum(place is not None for place in places)
    return (
        f"{why}; after {rules.join_timeout:.0f} s {count} of the nodes can take part and the job wants "
        f"{rules.min_nodes}: repair them, name spares, or lower min_nodes"
    )


def _times(count: int) -> str:
    return "no restart" if count == 0 else "1 restart" if count == 1 else f"{count} restarts"


def _end(current: Generation, outcome: str, reason: str, failure: Mapping[str, object] | None = None) -> Generation:
    return replace(current, number=current.number + 1, kind=END, outcome=outcome, reason=reason, failure=failure)
