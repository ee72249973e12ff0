# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The door between what a node says and what the controller makes of it: a schema, as functions; pure.

A kind takes a value and the name of its field, and returns the value as it may be shown, templated and written to a
file. Whoever rules a node may answer anything, so a kind raises RefusedError for what no node of ours would say.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import LONGEST, lines_of, one_line

Kind = Callable[[Any, str], Any]
# What 64 bits hold: bytes of memory, seconds, steps.
MOST = (1 << 63) - 1
LONGEST_WORD = 200
MOST_ELEMENTS = 100_000
MOST_NAMES = 1000
# Of a value that is refused, for the sentence that says so.
_SHOWN = 60
# ansible-core before 2.19 would take it for a template again where a fact holds it.
_DELIMITER = re.compile(r"\{(?=[{%#])")


class RefusedError(Exception):
    """``field`` has ``value``, which is not ``meant``; without a ``value`` it is missing."""

    def __init__(self, field: str, meant: str, *value: object) -> None:
        found = " ".join(ascii(one)[:_SHOWN] for one in value)
        super().__init__(literal(f"{field} is {found or 'missing'}, not {meant}"))


def taken(host: str, module: str, kind: Kind, answer: Any) -> Any:
    """What may be used of ``answer``; raises GaudiError, which names the node and the field."""
    try:
        return kind(answer, "")
    except RefusedError as error:
        raise GaudiError(
            f"{host} answered {module} with an invalid result: {error}. The result is not used; find out who changed "
            "that node before you trust it."
        ) from error


def literal(text: str) -> str:
    """The text, but no template, in whatever file or fact it ends."""
    return _DELIMITER.sub("{ ", text)


def literals(value: Any) -> Any:
    """A value with all of its texts as :func:`literal` has them, for what becomes a fact."""
    if isinstance(value, Mapping):
        return {literals(name): literals(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [literals(one) for one in value]
    return literal(value) if isinstance(value, str) else value


def truth(value: Any, field: str) -> bool:
    if not isinstance(value, bool):
        raise RefusedError(field, "true or false", value)
    return value


def whole(least: int = 0, most: int = MOST) -> Kind:
    def kind(value: Any, field: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise RefusedError(field, f"a whole number from {least} to {most}", value)
        return int(value)

    return kind


def number(value: Any, field: str) -> float:
    """As it is, a whole number or a real one."""
    is_one = isinstance(value, (int, float)) and not isinstance(value, bool)
    # An integer may be too large for a float.
    if not is_one or (isinstance(value, int) and abs(value) > MOST) or not math.isfinite(value):
        raise RefusedError(field, "a finite number", value)
    finite: float = value
    return finite


def one_of(*words: str) -> Kind:
    def kind(value: Any, field: str) -> str:
        if not isinstance(value, str) or value not in words:
            raise RefusedError(field, f"one of {', '.join(words)}", value)
        return str(value)

    return kind


def word(value: Any, field: str) -> str:
    """A name, a path, a key: one short line that is taken as it is, or not at all."""
    if not isinstance(value, str) or len(value) > LONGEST_WORD or said(value, field) != value:
        raise RefusedError(field, f"one line of at most {LONGEST_WORD} characters", value)
    return str(value)


def said(value: Any, field: str) -> str:
    """What a program said, for a person: one line, cut, without what a terminal or a template would obey."""
    return literal(one_line(_text(value, field)))


def lines(value: Any, field: str) -> str:
    """The same with its lines."""
    return literal(lines_of(_text(value, field)[:LONGEST], indent=""))


def event(value: Any, field: str) -> str:
    """A warning or an exception: a text, or what ansible-core 2.19 and newer make of one (``ansible._messages``)."""
    happened = getattr(value, "event", None)
    if happened is None:
        return lines(value, field)
    parts = [getattr(happened, part, None) for part in ("msg", "formatted_traceback")]
    return lines("\n".join(part for part in parts if isinstance(part, str)), field)


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str):
        raise RefusedError(field, "a text", value)
    return "".join(value)


def scalar(value: Any, field: str) -> Any:
    """A text for a person, a number, true, false or nothing."""
    if value is None or isinstance(value, bool):
        return value
    return said(value, field) if isinstance(value, str) else number(value, field)


def maybe(kind: Kind) -> Kind:
    return lambda value, field: None if value is None else kind(value, field)


def several(kind: Kind, most: int = MOST_ELEMENTS) -> Kind:
    def elements(value: Any, field: str) -> list[Any]:
        if not isinstance(value, (list, tuple)) or len(value) > most:
            raise RefusedError(field, f"a list of at most {most}", _brief(value))
        return [kind(one, f"{field}[{number}]") for number, one in enumerate(value)]

    return elements


def by_name(kind: Kind, most: int = MOST_NAMES) -> Kind:
    def members(value: Any, field: str) -> dict[str, Any]:
        if not isinstance(value, Mapping) or len(value) > most:
            raise RefusedError(field, f"a mapping with at most {most} names", _brief(value))
        return {word(name, f"a name in {field}"): kind(one, f"{field}.{name}") for name, one in value.items()}

    return members


def record(needed: Mapping[str, Kind], may: Mapping[str, Kind] | None = None) -> Kind:
    """A mapping that has all that is ``needed``; what is in neither is left out."""
    known = {**needed, **(may or {})}

    def members(value: Any, field: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise RefusedError(field or "it", "a mapping", value)
        prefix = f"{field}." if field else ""
        for name in needed:
            if name not in value:
                raise RefusedError(f"{prefix}{name}", "as its module answers")
        return {name: kind(value[name], f"{prefix}{name}") for name, kind in known.items() if name in value}

    return members


def _brief(value: Any) -> object:
    return f"{type(value).__name__} of {len(value)}" if isinstance(value, (list, tuple, Mapping)) else value
