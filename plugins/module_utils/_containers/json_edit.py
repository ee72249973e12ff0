# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Set one member of a JSON text and leave every other byte as its author wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

_BLANK = re.compile(r"[ \t\r\n]*")
_DEFAULT_INDENT = "  "


class _Member(NamedTuple):
    key: str
    key_start: int
    value_start: int
    value_end: int


def set_member(text: str, path: Sequence[str], value: object) -> str:
    """``text`` with ``value`` at ``path``; objects on the way are made where they are missing.

    ``text`` is a JSON object, and whatever stands on the way in it is an object too: the caller has parsed it.
    Of a key that occurs twice the last one counts, as for every JSON reader.
    """
    start = _skip_blank(text, 0)
    step = _step(text, start)
    outside = "\n"
    for depth, key in enumerate(path):
        members = _members(text, start)
        lead = _lead(text, start, members, outside, step)
        found = next((member for member in reversed(members) if member.key == key), None)
        if found is None:
            rest: object = value
            for name in reversed(path[depth + 1 :]):
                rest = {name: rest}
            member = f"{json.dumps(key)}: {_render(rest, lead, step)}"
            if members:
                end = members[-1].value_end
                return f"{text[:end]},{lead or ' '}{member}{text[end:]}"
            closing = f"{outside if lead else ''}{text[text.index('}', start) :]}"
            return f"{text[: start + 1]}{lead}{member}{closing}"
        if depth == len(path) - 1:
            return text[: found.value_start] + _render(value, lead, step) + text[found.value_end :]
        start, outside = found.value_start, lead
    return text


def _members(text: str, start: int) -> list[_Member]:
    """The members of the object that begins at ``start``."""
    decoder = json.JSONDecoder()
    members: list[_Member] = []
    at = _skip_blank(text, start + 1)
    while text[at] != "}":
        key_start = at
        key, at = decoder.raw_decode(text, at)
        value_start = _skip_blank(text, _skip_blank(text, at) + 1)
        _value, value_end = decoder.raw_decode(text, value_start)
        members.append(_Member(key, key_start, value_start, value_end))
        at = _skip_blank(text, value_end)
        if text[at] == ",":
            at = _skip_blank(text, at + 1)
    return members


def _lead(text: str, start: int, members: list[_Member], outside: str, step: str) -> str:
    """The blanks before each member: as the author has them, or one step deeper than outside in an empty object."""
    if members:
        return text[start + 1 : members[0].key_start]
    return outside + step if "\n" in outside else ""


def _render(value: object, lead: str, step: str) -> str:
    """``value`` in the style of its surroundings: on one line, or indented below ``lead``."""
    if "\n" not in lead:
        return json.dumps(value)
    return json.dumps(value, indent=step).replace("\n", "\n" + lead.rpartition("\n")[2])


def _step(text: str, start: int) -> str:
    """One level of the author's indentation: that of the outermost object's members."""
    members = _members(text, start)
    lead = _lead(text, start, members, "\n", _DEFAULT_INDENT)
    return lead.rpartition("\n")[2] if "\n" in lead else _DEFAULT_INDENT


def _skip_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
