# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether a TOML text says what its outline shows: what its reader would refuse is not merged into (TOML 1.0).

``toml_outline`` follows structure alone and leaves values as text, so that it could follow a file that is none.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, field
from typing import Optional, Union

from .toml_outline import Key, KeyPath, Outline, Table, TomlError

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]|\r(?!\n)")
_DATE = r"(?P<date>\d{4}-\d\d-\d\d)"
_TIME = r"(?P<time>\d\d:\d\d:\d\d)(?:\.\d+)?"
_DIGITS = r"[0-9](?:_?[0-9])*"
_PLAIN = re.compile(
    rf"""true|false|[+-]?(?:inf|nan)
    | [+-]?(?:0|[1-9](?:_?[0-9])*)(?:\.{_DIGITS})?(?:[eE][+-]?{_DIGITS})?
    | 0x[0-9A-Fa-f](?:_?[0-9A-Fa-f])* | 0o[0-7](?:_?[0-7])* | 0b[01](?:_?[01])*
    | (?:{_DATE}(?:[Tt\x20]{_TIME}(?:[Zz]|[+-][0-2]\d:[0-5]\d)?)?)
    | (?P<clock>\d\d:\d\d:\d\d)(?:\.\d+)?""",
    re.VERBOSE | re.ASCII,
)
_TOKEN = re.compile(r"[A-Za-z0-9_+:.-]+(?: [0-9:.Zz+-]+)?")
_LITERAL = re.compile(r"'''.*?'{3,5}|'[^'\n]*'", re.DOTALL)
_BASIC = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:[btnfr\"\\]|u(?P<four>[0-9A-Fa-f]{4})|U(?P<eight>[0-9A-Fa-f]{8})|(?P<line>[ \t]*\r?\n))?")
_KEY = re.compile(r"[A-Za-z0-9_-]+|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'")
_BETWEEN = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_REST = re.compile(r"[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z)")
_BLANKS = re.compile(r"[ \t]*")
_DEEPEST = 64

IMPLICIT, TABLE, DOTTED, ARRAY, VALUE = "implicit", "table", "dotted", "array", "value"


@dataclass
class _Node:
    """``parts`` of an array of tables are those of its last table."""

    kind: str
    parts: dict[str, _Node] = field(default_factory=dict)


def check(found: Outline) -> None:
    """TomlError for a text that a reader of TOML would refuse."""
    text = found.text
    odd = _CONTROL.search(text)
    if odd:
        raise TomlError("a control character, or a byte that is not UTF-8", text, odd.start())
    root = _Node(TABLE)
    at: dict[KeyPath, _Node] = {(): root}
    items: list[tuple[int, Union[Table, Key]]] = [(one.start, one) for one in found.tables]
    items += [(one.line_start, one) for one in found.keys]
    items.sort(key=lambda item: item[0])
    for start, item in items:
        if isinstance(item, Table):
            at = {(): root, item.path: _table(root, item, text)}
            continue
        path = item.path[len(item.table) :]
        if not _set(at[item.table], path):
            raise TomlError(f"{'.'.join(item.path)} appears twice", text, start)
        end = _value(text, item.value_start, 0)
        if end != item.value_end or not _REST.match(text, end):
            raise TomlError("this is not a value", text, item.value_start)


def _table(root: _Node, table: Table, text: str) -> _Node:
    node = root
    for part in table.path[:-1]:
        node = node.parts.setdefault(part, _Node(IMPLICIT))
        if node.kind == VALUE:
            raise TomlError(f"{part} is not a table", text, table.start)
    name = table.path[-1]
    known: Optional[_Node] = node.parts.get(name)
    if known is None or known.kind == (ARRAY if table.array else IMPLICIT):
        kept = {} if known is None or table.array else known.parts
        node.parts[name] = _Node(ARRAY if table.array else TABLE, kept)
        return node.parts[name]
    raise TomlError(f"{'.'.join(table.path)} appears twice", text, table.start)


def _set(node: _Node, path: KeyPath) -> bool:
    """Whether the key is new, and could be set."""
    for part in path[:-1]:
        node = node.parts.setdefault(part, _Node(DOTTED))
        if node.kind != DOTTED:
            return False
    if path[-1] in node.parts:
        return False
    node.parts[path[-1]] = _Node(VALUE)
    return True


def _value(text: str, at: int, depth: int) -> int:
    """Where the value ends; TomlError for what is none."""
    if depth > _DEEPEST:
        raise TomlError(f"it nests deeper than {_DEEPEST} levels", text, at)
    if text[at : at + 1] == "[":
        return _array(text, at + 1, depth)
    if text[at : at + 1] == "{":
        return _inline(text, at + 1, depth)
    quoted = _LITERAL.match(text, at) or _BASIC.match(text, at)
    if quoted:
        if text[at] == '"':
            _escapes(text, at, quoted.end())
        return quoted.end()
    token = _TOKEN.match(text, at)
    plain = token and _PLAIN.fullmatch(token.group())
    if not token or not plain or not _is_in_the_calendar(plain):
        raise TomlError("this is not a value", text, at)
    return token.end()


def _array(text: str, at: int, depth: int) -> int:
    at = _after(_BETWEEN, text, at)
    while text[at : at + 1] != "]":
        at = _after(_BETWEEN, text, _value(text, at, depth + 1))
        if text[at : at + 1] == ",":
            at = _after(_BETWEEN, text, at + 1)
        elif text[at : at + 1] != "]":
            raise TomlError("a comma was expected", text, at)
    return at + 1


def _inline(text: str, at: int, depth: int) -> int:
    table, at = _Node(TABLE), _after(_BLANKS, text, at)
    while text[at : at + 1] != "}" or table.parts:
        path, at = _path(text, at)
        if text[at : at + 1] != "=" or not _set(table, path):
            raise TomlError(f"{'.'.join(path)} appears twice, or has no value", text, at)
        at = _after(_BLANKS, text, _value(text, _after(_BLANKS, text, at + 1), depth + 1))
        if text[at : at + 1] == "}":
            break
        if text[at : at + 1] != ",":
            raise TomlError("a comma was expected", text, at)
        at = _after(_BLANKS, text, at + 1)
    return at + 1


def _path(text: str, at: int) -> tuple[KeyPath, int]:
    parts: list[str] = []
    while True:
        key = _KEY.match(text, at)
        if key is None:
            raise TomlError("a key was expected", text, at)
        parts.append(key.group().strip("\"'"))
        at = _after(_BLANKS, text, key.end())
        if text[at : at + 1] != ".":
            return tuple(parts), at
        at = _after(_BLANKS, text, at + 1)


def _escapes(text: str, start: int, end: int) -> None:
    is_long = text.startswith('"""', start)
    for found in _ESCAPE.finditer(text, start, end):
        number = int(found["four"] or found["eight"] or "0", 16)
        known = len(found.group()) > 1 and (found["line"] is None or is_long)
        if not known or number > 0x10FFFF or 0xD800 <= number < 0xE000:
            raise TomlError("an escape that TOML does not know", text, found.start())


def _is_in_the_calendar(plain: re.Match[str]) -> bool:
    try:
        if plain["date"]:
            datetime.date.fromisoformat(plain["date"])
        for name in ("time", "clock"):
            if plain[name]:
                datetime.time.fromisoformat(plain[name])
    except ValueError:
        return False
    return True


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
