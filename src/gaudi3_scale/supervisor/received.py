# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a peer's message may be: each value of its own type and within bounds, or it is no message (ValueError).

A peer has the launch's key and may be of another version of this program all the same, or no longer be its owner's.
Whatever it says, nothing here or behind here raises by it, and nothing grows with it.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence

from gaudi3_scale.supervisor.generation import END, RUN, WAIT, Generation, Place
from gaudi3_scale.supervisor.messages import (
    CAUSES,
    DONE,
    ENDING,
    FAILURE_LENGTHS,
    GONE,
    IDLE,
    LINES_KEPT,
    REASON_LENGTH,
    RUNNING,
    TEXT_LENGTH,
    Ack,
    Ballot,
    Interruption,
    Message,
    Ping,
    Report,
)
from gaudi3_scale.supervisor.pieces import MOST, Sender

PHASES = (IDLE, RUNNING, DONE, ENDING, GONE)
# Seconds; longer than any job.
LONGEST = 1e12
MOST_RANKS = 1024
# A node stands by twice as long each time before a job grows for it, so nobody gets there.
MOST_GROWTHS = 1000
# Of a failure, what is shown and compared has to be there.
NEEDED = {"rank", "exception", "message", "lines", "path", "echo"}


class Known(NamedTuple):
    """A generation, its members' indexes, and by index the incarnation that it names (None: none, or ANY)."""

    generation: Generation
    indexes: frozenset[int]
    named: tuple[int | None, ...]


def message_of_peer(
    body: object, sender: Sender, current: Known, accepted: Optional[Generation], nodes: int
) -> Message:
    """The message of the JSON value ``body``, in a job of ``nodes`` nodes."""
    promised, ballot, acks, links, report, remembers, gone, leads, interruption, stop, asks = _list(body, 11, 11)
    if (accepted is None) != (ballot is None):
        raise ValueError("a ballot without its generation, or the other way")
    return Message(
        *sender,
        committed=current.generation,
        promised=ballot_of(promised, nodes),
        accepted=None if accepted is None else (ballot_of(ballot, nodes), accepted),
        acks=_acks(acks, sender, current.named),
        links=_links(links, nodes),
        report=_report(report),
        remembers=count_of(remembers, sender.incarnation),
        gone=_gone(gone, current.indexes),
        leads=count_of(leads, nodes + 1),
        interruption=None if interruption is None else _interruption(interruption, nodes),
        stop=bool(count_of(stop, 1)),
        asks=bool(count_of(asks, 1)),
    )


def ping_of_peer(body: object, sender: Sender, nodes: int) -> Ping:
    acks, links, asks = _list(body, 3, 3)
    return Ping(*sender, _acks(acks, sender, (None,) * nodes), _links(links, nodes), bool(count_of(asks, 1)))


def known_of_peer(data: object, nodes: int) -> Known:
    """The generation of the JSON value ``data``, with what a message is held against."""
    generation = generation_of(data, nodes)
    return Known(generation, frozenset(generation.indexes), named_incarnations(generation, nodes))


def named_incarnations(generation: Generation, nodes: int) -> tuple[int | None, ...]:
    """By index; None where the generation names none, or any."""
    named = dict(generation.members if generation.witness is None else (*generation.members, generation.witness))
    return tuple(named.get(index) or None for index in range(nodes))


# A message has lists with an entry for each node, and each node sends one every second or oftener. A look at all
# types and bounds takes a third of the time of a function that is called with each value.


def _acks(data: object, sender: Sender, named: Sequence[int | None]) -> tuple[Ack | None, ...]:
    given = _list(data, len(named), len(named))
    _node, incarnation, sequence = sender
    acks = tuple(
        None
        if ack is None
        else (name, sequence - ack)
        if name is not None and isinstance(ack, int) and not isinstance(ack, bool)
        else _foreign_ack(ack, incarnation, sequence)
        for ack, name in zip(given, named)
    )
    sequences = [ack[1] for ack in acks if ack is not None]
    if sequences and not 0 <= min(sequences) <= max(sequences) <= MOST:
        raise ValueError("no sequence number")
    return acks


def _foreign_ack(data: object, incarnation: int, sequence: int) -> Ack:
    """Of a supervisor that the generation does not name; both are differences to those of the sender."""
    behind, younger = _list(data, 2, 2)
    return count_of(incarnation - _whole(younger)), sequence - _whole(behind)


def _links(data: object, nodes: int) -> tuple[float | None, ...]:
    tenths = _whole_numbers(data, nodes, nodes)
    if not -1 <= min(tenths) <= max(tenths) <= MOST:
        raise ValueError("no age")
    return tuple([None if age < 0 else age / 10 for age in tenths])


def _gone(data: object, members: frozenset[int]) -> frozenset[int]:
    gone = frozenset(_whole_numbers(data, len(members)))
    if not gone <= members:
        raise ValueError("no member")
    return gone


def _whole_numbers(data: object, most: int, least: int = 0) -> list[int]:
    given = _list(data, most, least)
    if given and set(map(type, given)) != {int}:
        raise ValueError("no whole number")
    return given


def generation_of(data: object, nodes: int) -> Generation:
    number, kind, places, restarts, early, has_run, left_out, step, grown, failed_at, *end = _list(data, 14, 14)
    reason, outcome, failure, witness = end
    taken = tuple(_place(place, nodes) for place in _list(places, nodes))
    votes = _place(witness, nodes)
    indexes = [place[0] for place in taken if place is not None]
    voters = indexes if votes is None else [*indexes, votes[0]]
    if kind not in (WAIT, RUN, END) or not indexes or len(set(voters)) < len(voters):
        raise ValueError("no generation")
    return Generation(
        number=count_of(number),
        kind=kind,
        places=taken,
        restarts=count_of(restarts),
        early_failures=count_of(early),
        has_run=bool(count_of(has_run, 1)),
        left_out=tuple(count_of(index, nodes - 1) for index in _list(left_out, nodes)),
        step=_maybe(count_of, step),
        grown=tuple(count_of(index, nodes - 1) for index in _list(grown, MOST_GROWTHS)),
        failed_at=_text(failed_at, TEXT_LENGTH),
        reason=_text(reason, REASON_LENGTH),
        outcome=_text(outcome, TEXT_LENGTH),
        failure=_maybe(_failure, failure),
        witness=votes,
    )


def _place(data: object, nodes: int) -> Place:
    if not isinstance(data, list) and _whole(data) == 0:
        return None
    index, incarnation = _list(data, 2, 2)
    return count_of(index, nodes - 1), count_of(incarnation)


def ballot_of(data: object, nodes: int) -> Ballot:
    """The first of all is (0, -1): nobody's."""
    number, index = _list(data, 2, 2)
    return count_of(number), -1 if _whole(index) == -1 else count_of(index, nodes - 1)


def _interruption(data: object, nodes: int) -> Interruption:
    generation, cause, index, text = _list(data, 4, 4)
    if cause not in CAUSES:
        raise ValueError("no cause")
    return Interruption(count_of(generation), cause, count_of(index, nodes - 1), _text(text, REASON_LENGTH))


def _report(data: object) -> Report:
    """What equals a default is left out on the way."""
    given = _object(data, set(), set(_REPORT))
    return Report(**{name: _REPORT[name](value) for name, value in given.items()})


def _failure(data: object) -> Mapping[str, object]:
    given = _object(data, NEEDED, set(_FAILURE))
    return {name: _FAILURE[name](value) for name, value in given.items()}


def _phase(value: object) -> str:
    if value not in PHASES:
        raise ValueError("no phase")
    return str(value)


def count_of(value: object, most: int = MOST) -> int:
    if not 0 <= _whole(value) <= most:
        raise ValueError("no count")
    return _whole(value)


def _whole(value: object) -> int:
    """A rank or an exit status, which a signal or the agent makes negative."""
    if isinstance(value, bool) or not isinstance(value, int) or not -MOST <= value <= MOST:
        raise ValueError("no whole number")
    return value


def _seconds(value: object) -> float:
    """Neither endless nor NaN, which is not within any bounds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LONGEST:
        raise ValueError("no seconds")
    return float(value)


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")
    return value


def _text(value: object, most: int) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise ValueError("no text")
    return value


def _list(value: object, most: int, least: int = 0) -> list[Any]:
    if not isinstance(value, list) or not least <= len(value) <= most:
        raise ValueError("no list")
    return value


def _object(value: object, needed: set[str], known: Optional[set[str]] = None) -> dict[str, Any]:
    if not isinstance(value, dict) or not needed <= set(value) <= (needed if known is None else known):
        raise ValueError("no object")
    return value


def _maybe(check: Callable[[Any], Any], value: object) -> Any:
    return None if value is None else check(value)


_REPORT: Mapping[str, Callable[[Any], Any]] = {
    "phase": _phase,
    "fit": lambda value: _maybe(_truth, value),
    "unfit": lambda value: _text(value, TEXT_LENGTH),
    "stuck": _truth,
    "steps": lambda value: tuple(_maybe(count_of, step) for step in _list(value, MOST_RANKS)),
    "busy": lambda value: tuple(_maybe(_seconds, one) for one in _list(value, MOST_RANKS)),
    "step_age": lambda value: _maybe(_seconds, value),
    "failure": lambda value: _maybe(_failure, value),
    "failure_age": _seconds,
    "leaving": _truth,
}
_FAILURE: Mapping[str, Callable[[Any], Any]] = {
    "rank": _whole,
    "local_rank": _whole,
    "exit_code": _whole,
    "echo": _whole,
    "time": _seconds,
    "lines": lambda value: [_text(line, TEXT_LENGTH) for line in _list(value, LINES_KEPT)],
    "others": lambda value: [_text(line, TEXT_LENGTH) for line in _list(value, LINES_KEPT)],
    **{
        name: (lambda value, most=most: _text(value, most))  # type: ignore[misc]
        for name, most in FAILURE_LENGTHS.items()
    },
}
