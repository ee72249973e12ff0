# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The cards as HLML tells them, the vendor's library below ``hl-smi``: typed, and with more than its text has.

The library is loaded by a process of its own that has a deadline (``hlml_reader.py``), never by ours. Whatever happens
to it is a reason in words at each field that it left unanswered, so that whoever reads goes on to the next source.
"""

from __future__ import annotations

import inspect
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from .._node.commands import CommandResult, Run, last_line
from .._node.json_file import parse_object
from .._node.path_writers import others_place, words_for
from . import hlml_reader
from .hlml_fields import HANDLE, IDENTITY, NEEDED, OF_CARD, OF_LIBRARY, VERSION, Field, calls, sharing
from .hlml_interface import CODES, COUNTER_NAME, EVENTS, LIBRARIES, LINES, NO_EVENT, THROTTLING

# A card in reset may hold a call as long as the driver waits for it.
SECONDS = 20.0
# How long a reader waits for the one before it.
WAIT_SECONDS = 5.0
# In a directory that only root writes to, and that a boot empties.
LOCK = "/run/gaudi3_scale_hlml.lock"
# Eight cards come to some 25 KB.
MOST_BYTES = 1 << 20
# What would make the dynamic linker take something else.
_LINKER = dict.fromkeys(("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT"), "")
# How the reason begins where no release of the vendor's has put the library there.
NOT_INSTALLED = "HLML is not installed"
# What it says where it has nothing to say.
_NOTHING = frozenset({"", "n/a", "unknown", "not supported"})
_MOST_COUNTED = (1 << 63) - 1
# What comes before the first question.
_BEGINNING = ("dlopen", "hlml_init")

Value = Union[int, str, None]


@dataclass(frozen=True)
class Answer:
    """A field of a card: its value, or in ``reason`` why there is none, as a clause. ``counters``: those of a port."""

    of: Field
    value: Value = None
    reason: str = ""
    counters: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class HlmlCard:
    """One card: each field of ``hlml_fields.py`` by its name."""

    pci_address: str
    answers: Mapping[str, Answer] = field(default_factory=dict)

    def number(self, name: str) -> int | None:
        """The number in the field's unit; None where it is not known."""
        value = self.answers[name].value if name in self.answers else None
        return value if isinstance(value, int) else None

    @property
    def throttled_by(self) -> tuple[str, ...] | None:
        """What keeps the clock low now: ``power``, ``thermal``, both or nothing; None where it is not known."""
        mask = self.number("throttle_reasons")
        return None if mask is None else tuple(name for name, bit in THROTTLING.items() if mask & bit)

    @property
    def port_counters(self) -> dict[int, Mapping[str, int]]:
        """What each port counts, by name, of those that were asked and answered."""
        asked = (one for one in self.answers.values() if one.of.is_counters)
        return {one.of.given[0]: one.counters for one in asked if not one.reason}

    @property
    def throttle_counters(self) -> dict[str, int]:
        """The counters of the time in which that kept it low, by reason, of those that are known."""
        counters = {reason: self.number(f"throttled_by_{reason}") for reason in THROTTLING}
        return {reason: count for reason, count in counters.items() if count is not None}

    def text(self, name: str) -> str | None:
        """The text; None where it is not known."""
        value = self.answers[name].value if name in self.answers else None
        return value if isinstance(value, str) else None


@dataclass(frozen=True)
class HlmlReading:
    """What one reader was told. ``reason`` is why not all was asked; empty where each card was asked for each field."""

    library: str = ""
    versions: Mapping[str, Answer] = field(default_factory=dict)
    cards: Mapping[str, HlmlCard] = field(default_factory=dict)
    reason: str = ""

    def card(self, pci_address: str) -> HlmlCard:
        """What is known of a card, also of one that nobody asked for."""
        return self.cards.get(pci_address, HlmlCard(pci_address))


def ask_hlml(
    run: Run,
    addresses: Sequence[str],
    fields: Sequence[Field] = OF_CARD,
    *,
    libraries: Sequence[str] = LIBRARIES,
    seconds: float = SECONDS,
    lock: str = LOCK,
) -> HlmlReading:
    """Ask the library for ``fields`` of the cards at these PCI addresses; raises nothing."""
    path = _path(libraries)
    # Its address is asked of each card, whatever else is.
    asked = tuple(dict.fromkeys((*(one for one in OF_CARD if one.function == IDENTITY), *fields)))
    if not path:
        return _untold("", addresses, asked, f"{NOT_INSTALLED}: there is no {libraries[0]}")
    refusal = _refusal(path)
    if refusal:
        return _untold(path, addresses, asked, refusal)
    # As root alone: what another account may open it may lock for ever.
    request = {
        **_of_library(path, addresses),
        "seconds": seconds,
        "wait": WAIT_SECONDS,
        "lock": lock if os.geteuid() == 0 else "",
        "most_bytes": MOST_BYTES,
        "of_card": calls(asked),
    }
    done = run(_program(request), timeout=WAIT_SECONDS + seconds + 5, env=_LINKER)
    return _reading(path, addresses, asked, done, seconds)


def events_program(
    addresses: Sequence[str], milliseconds: int, libraries: Sequence[str] = LIBRARIES
) -> tuple[tuple[str, ...], str]:
    """The command of a process that tells of each event of the cards; or none, and why not.

    It waits, for so many milliseconds at once, and asks nothing, so that no other reader has to wait for it.
    """
    path = _path(libraries)
    if not path:
        return (), f"{NOT_INSTALLED}: there is no {libraries[0]}"
    refusal = _refusal(path)
    if refusal:
        return (), refusal
    events = {"events": sum(EVENTS.values()), "milliseconds": milliseconds, "nothing": NO_EVENT}
    return _program({**_of_library(path, addresses), **events}), ""


def events_reason(data: Mapping[str, Any], path: str = LIBRARIES[0]) -> str:
    """Why the process of ``events_program`` ends, where this line of it says so; else empty."""
    if isinstance(data.get("refused"), str):
        return _refused(path, data["refused"], data.get("why"))
    if isinstance(data.get("failed"), str):
        return f"{_printable(data['failed'], 60)}: {_code_words(data.get('code'))}"
    return ""


def _path(libraries: Sequence[str]) -> str:
    return next((path for path in libraries if os.path.lexists(path)), "")


def _of_library(path: str, addresses: Sequence[str]) -> dict[str, object]:
    return {
        "library": path,
        "cards": list(addresses),
        "needed": NEEDED,
        "release": VERSION,
        "lines": LINES,
        "handle": {"name": "handle", "function": HANDLE},
        "of_library": calls(OF_LIBRARY),
    }


def _program(request: Mapping[str, object]) -> tuple[str, ...]:
    return (sys.executable or "python3", "-I", "-S", "-c", inspect.getsource(hlml_reader), json.dumps(request))


def _refusal(path: str) -> str:
    """Why root does not load this library; empty where it may."""
    try:
        weak = others_place(path)
    except OSError as error:
        return f"HLML was not loaded: {path} cannot be looked at ({error.strerror})"
    if weak is None:
        return ""
    return f"HLML was not loaded: {words_for(weak)}, and root loads nothing that another account may change"


def _untold(path: str, addresses: Sequence[str], fields: Sequence[Field], reason: str) -> HlmlReading:
    cards = {address: _unknown_card(address, fields, reason) for address in addresses}
    return HlmlReading(path, {one.name: Answer(one, reason=reason) for one in OF_LIBRARY}, cards, reason)


def _unknown_card(address: str, fields: Sequence[Field], reason: str) -> HlmlCard:
    return HlmlCard(address, {one.name: Answer(one, reason=reason) for one in fields})


class _Said:
    """The lines of the reader: answers by card and call, why the library was refused, and how it ended."""

    def __init__(self, text: str) -> None:
        self.answers: dict[tuple[str, str], dict[str, Any]] = {}
        self.refused: tuple[str, Any] | None = None
        self.end: dict[str, Any] = {}
        for line in text.splitlines():
            try:
                data = parse_object(line, MOST_BYTES)
            except ValueError:
                continue
            self._take(data)

    def _take(self, data: dict[str, Any]) -> None:
        card, name = data.get("card"), data.get("name")
        if isinstance(card, str) and isinstance(name, str):
            self.answers[card, name] = data
        elif isinstance(data.get("refused"), str):
            self.refused = data["refused"], data.get("why")
        elif isinstance(data.get("end"), str):
            self.end = data


def _reading(
    path: str, addresses: Sequence[str], fields: Sequence[Field], done: CommandResult, seconds: float
) -> HlmlReading:
    said = _Said(done.stdout)
    stopped = next(_unanswered(said, addresses, fields), "")
    reason = _why(path, said, done, seconds, stopped)
    versions = {one.name: _answer(one, said.answers.get(("", one.name)), reason) for one in OF_LIBRARY}
    cards = {address: _card(address, fields, said, reason) for address in addresses}
    return HlmlReading(path, versions, cards, reason)


def _unanswered(said: _Said, addresses: Sequence[str], fields: Sequence[Field]) -> Iterator[str]:
    """What was asked and has no answer, in the order of the questions: ``FUNCTION`` or ``FUNCTION of ADDRESS``."""
    yield from (name for name in _BEGINNING if ("", name) not in said.answers)
    yield from (one.function for one in OF_LIBRARY if ("", one.name) not in said.answers)
    for address in addresses:
        handle = said.answers.get((address, "handle"))
        if handle is None:
            yield f"{HANDLE} of {address}"
        elif handle.get("code") == 0:
            for name, ones in sharing(fields).items():
                if (address, name) not in said.answers:
                    yield f"{ones[0].function} of {address}"


def _why(path: str, said: _Said, done: CommandResult, seconds: float, stopped: str) -> str:
    """Why not all was answered; empty where it was."""
    if said.refused is not None:
        return _refused(path, *said.refused)
    end = said.end.get("end")
    held = "; its process waits in the kernel and cannot be ended" if said.end.get("stuck") is True else ""
    number = said.end.get("signal")
    if end == "busy":
        return f"another reader has been asking HLML for more than {WAIT_SECONDS:g} s"
    if end == "bytes":
        return f"HLML answered more than {MOST_BYTES} bytes"
    if end == "deadline":
        return f"HLML did not answer {stopped} within {seconds:g} s{held}" if stopped else ""
    if not stopped:
        return ""
    if end == "ended" and isinstance(number, int) and number > 0:
        return f"HLML crashed in {stopped} ({_signal_name(number)})"
    if end == "ended":
        return f"HLML ended its reader in {stopped}"
    return f"the reader of HLML failed: {_printable(last_line(done.stderr), 200)}"


def _refused(path: str, what: str, why: Any) -> str:
    known = f"{LINES[0]} to {LINES[-1]}"
    if what == "release":
        return f"{path} is of release {_printable(why, 60) or 'unknown'}, and only those from {known} are read"
    if what == "symbol":
        return f"{path} is no HLML of a release from {known}: it has no {_printable(why, 60)}"
    if what == "init":
        return f"HLML did not start: {_code_words(why)}"
    return f"{path} cannot be loaded: {_printable(why, 200)}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _card(address: str, fields: Sequence[Field], said: _Said, reason: str) -> HlmlCard:
    handle = said.answers.get((address, "handle"), {})
    if handle and handle.get("code") != 0:
        return _unknown_card(address, fields, f"HLML has no card {address}: {_code_words(handle.get('code'))}")
    by_call = {one.name: name for name, ones in sharing(fields).items() for one in ones}
    answers = {one.name: _answer(one, said.answers.get((address, by_call[one.name])), reason) for one in fields}
    other = next(one for one in answers.values() if one.of.function == IDENTITY and one.of.is_text)
    if isinstance(other.value, str) and other.value.lower() != address:
        return _unknown_card(address, fields, f"HLML answered of {other.value} where {address} was asked for")
    if other.value is None:
        # Else nobody would know of which card these are.
        return _unknown_card(address, fields, other.reason)
    return HlmlCard(address, answers)


def _answer(of: Field, said: dict[str, Any] | None, reason: str) -> Answer:
    if said is None:
        return Answer(of, reason=reason or f"nobody asked {of.function}")
    if said.get("missing") is True:
        return Answer(of, reason=f"this HLML has no {of.function}")
    if said.get("code") != 0:
        return Answer(of, reason=f"{of.function}: {_code_words(said.get('code'))}")
    values = said.get("values")
    if of.is_counters:
        return _counters_answer(of, values)
    value = values[of.pick] if isinstance(values, list) and len(values) > of.pick else None
    return _text_answer(of, value) if of.is_text else _number_answer(of, value)


def _counters_answer(of: Field, values: object) -> Answer:
    words = values if isinstance(values, list) else []
    pairs = ((_printable(name, COUNTER_NAME), count) for name, count in zip(words[::2], words[1::2]))
    known = {name: count for name, count in pairs if name and isinstance(count, int) and 0 <= count <= _MOST_COUNTED}
    return Answer(of, counters=known) if known else Answer(of, reason=f"{of.function} counts nothing")


def _number_answer(of: Field, value: object) -> Answer:
    if not isinstance(value, int) or isinstance(value, bool):
        return Answer(of, reason=f"{of.function} says no number")
    if not of.least <= value <= of.most:
        return Answer(of, reason=f"{of.function} says {value}, which no card can have")
    return Answer(of, value)


def _text_answer(of: Field, value: object) -> Answer:
    text = _printable(value, 128)
    if text.lower() in _NOTHING:
        return Answer(of, reason=f"{of.function} says nothing")
    return Answer(of, text)


def _code_words(code: object) -> str:
    words = CODES.get(code) if isinstance(code, int) else None
    return f"{words} (code {code})" if words else f"it answered code {_printable(code, 20)}"


def _printable(value: object, most: int) -> str:
    text = "" if value is None else str(value)
    return "".join(letter for letter in text if letter.isprintable()).strip()[:most]
