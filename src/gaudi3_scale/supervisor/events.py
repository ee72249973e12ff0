# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What people are told about a change of state; each thing once, in the same words on every node."""

from __future__ import annotations

from gaudi3_scale.core._job.reported_failure import failure_sentence
from gaudi3_scale.supervisor.generation import END, FAILED, RUN, STOPPED, Generation
from gaudi3_scale.supervisor.messages import HANG, RANK_FAILED, Interruption
from gaudi3_scale.supervisor.pace import stragglers
from gaudi3_scale.supervisor.state import Event, Rules, State
from gaudi3_scale.supervisor.view import linked

RAN = "run"
SPARE = "spare"
SHRUNK = "shrunk"
GROWN = "grown"
STRAGGLER = "straggler"
NODE_LOST = "node_lost"
NODE_BACK = "node_back"
UNFIT = "unfit"
ENDED = "ended"
STOPPED_JOB = "stopped"
# What can happen again and again, and is found by its change.
CHANGES = (NODE_LOST, NODE_BACK)
# What is told in a peer's own words. A peer that says something else each time is not listened to for ever.
PEERS_WORDS = (RANK_FAILED, UNFIT)
MOST_REPORTED = 2000


def events_between(before: State, seen: State, state: State, rules: Rules, now: float) -> tuple[State, list[Event]]:
    """The events, and the state in which they count as told.

    ``seen`` is the state in which the next generation was decided on, and with which its causes are forgotten.
    """
    events = [
        *_links(state, rules, now),
        *_failures(seen, rules),
        *_interruptions(before, seen, rules),
        *_unfit(state, rules),
    ]
    events += _slow(state, rules, now)
    if state.committed.number > before.committed.number:
        events += _generations(before.committed, state.committed, rules)
    events = [event for event in events if event.kind not in PEERS_WORDS or len(state.reported) < MOST_REPORTED]
    new = [event for event in events if event.kind in CHANGES or _name(event) not in state.reported]
    lost = _lost(state, rules, now)
    return state.having(lost=lost, reported=state.reported | {_name(event) for event in new}), new


def _name(event: Event) -> str:
    return f"{event.kind} {event.generation} {event.host} {event.text}"


def _lost(state: State, rules: Rules, now: float) -> frozenset[int]:
    near = linked(state.peers, rules.index, now, rules.lost_after)
    return frozenset(
        index for index in state.peers if index not in near and now - state.peers[index].first > rules.lost_after
    )


def _links(state: State, rules: Rules, now: float) -> list[Event]:
    number, lost = state.committed.number, _lost(state, rules, now)
    if state.committed.kind == END:
        return []
    gone = [
        Event(
            NODE_LOST,
            number,
            rules.names[index],
            (f"{rules.names[index]} was not heard from for {rules.lost_after:.0f} s."),
        )
        for index in sorted(lost - state.lost)
    ]
    back = [
        Event(NODE_BACK, number, rules.names[index], f"{rules.names[index]} is heard from again.")
        for index in sorted(state.lost - lost)
    ]
    return [*gone, *back]


def _failures(state: State, rules: Rules) -> list[Event]:
    """Ranks that failed by themselves; those that lost a peer only say that somebody else did."""
    reports = {index: peer.message for index, peer in state.peers.items()}
    reported = [
        (index, message.report.failure)
        for index, message in reports.items()
        if message.committed.number == state.committed.number and message.report.failure
    ]
    if state.report.failure:
        reported.append((rules.index, state.report.failure))
    return [
        Event(RANK_FAILED, state.committed.number, rules.names[index], failure_sentence(rules.names[index], failure))
        for index, failure in reported
        if failure.get("echo") == 0
    ]


def _interruptions(before: State, state: State, rules: Rules) -> list[Event]:
    interruption: Interruption | None = state.interruption
    if interruption is None or interruption == before.interruption or interruption.cause != HANG:
        return []
    return [Event(HANG, interruption.generation, rules.names[interruption.index], f"{_sentence(interruption.text)}")]


def _unfit(state: State, rules: Rules) -> list[Event]:
    reports = {index: peer.message.report for index, peer in state.peers.items()}
    reports[rules.index] = state.report
    return [
        Event(UNFIT, 0, rules.names[index], f"{rules.names[index]} cannot take part: {report.unfit}")
        for index, report in sorted(reports.items())
        if report.fit is False
    ]


def _slow(state: State, rules: Rules, now: float) -> list[Event]:
    return [
        Event(
            STRAGGLER,
            state.committed.number,
            rules.names[index],
            f"{rules.names[index]} needs more than {rules.straggler_ratio:g} times as long for its own work as the "
            "median of all ranks.",
        )
        for index in stragglers(state, now)
    ]


def _generations(before: Generation, current: Generation, rules: Rules) -> list[Event]:
    number = current.number
    if current.kind == END:
        kind = STOPPED_JOB if current.outcome == STOPPED else ENDED
        said = f"The job {'was ' if current.outcome == STOPPED else ''}{current.outcome}: {_sentence(current.reason)}"
        host = (current.failure or {}).get("host") if current.outcome == FAILED else None
        return [Event(kind, number, str(host) if host else None, said)]
    if current.kind != RUN:
        return []
    names = [rules.names[index] for index in current.indexes]
    events = [Event(RAN, number, None, f"Generation {number} runs on {', '.join(names)}: {_sentence(current.reason)}")]
    for old, new in zip(before.places, current.places):
        if old is not None and new is not None and old[0] != new[0]:
            text = f"{rules.names[new[0]]} takes the place of {rules.names[old[0]]}."
            events.append(Event(SPARE, number, rules.names[new[0]], text))
    count = f"{len(names)} of {len(current.places)} nodes"
    if len(current.members) < len(before.members):
        events.append(Event(SHRUNK, number, None, f"The job continues with {count}."))
    if len(current.members) > len(before.members):
        events.append(Event(GROWN, number, None, f"The job has grown to {count}."))
    return events


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
