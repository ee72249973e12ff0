# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Where the tables and keys of a TOML text are, so that one key can be set and every other byte stays.

Python 3.9 has no TOML reader and no Python has a writer that keeps comments. This reads the structure (tables, keys
and the extent of each value) and leaves values as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

_BLANK = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[A-Za-z0-9_+:.-]+(?: [0-9:.Z+-]+)?")

KeyPath = tuple[str, ...]


class TomlError(ValueError):
    """The text is not TOML as far as this reader knows it. ``line`` counts from 1."""

    def __init__(self, problem: str, text: str, at: int) -> None:
        self.line = text.count("\n", 0, at) + 1
        super().__init__(f"line {self.line}: {problem}")


@dataclass(frozen=True)
class Table:
    """A ``[header]``; ``end`` is where its line ends. ``array``: written ``[[header]]``."""

    path: KeyPath
    start: int
    end: int
    array: bool


@dataclass(frozen=True)
class Key:
    """A ``key = value``: its whole ``path``, the ``table`` it stands under, where its line and its value are."""

    path: KeyPath
    table: KeyPath
    line_start: int
    value_start: int
    value_end: int


@dataclass(frozen=True)
class Outline:
    """The structure of ``text``, in the order of the file. The root table has no entry."""

    text: str
    tables: tuple[Table, ...]
    keys: tuple[Key, ...]

    def find(self, path: Sequence[str]) -> Key | None:
        """The key at ``path``."""
        return next((key for key in self.keys if key.path == tuple(path)), None)

    def raw(self, path: Sequence[str]) -> str | None:
        """The value at ``path`` as it is written."""
        key = self.find(path)
        return None if key is None else self.text[key.value_start : key.value_end]

    def strings(self, path: Sequence[str]) -> tuple[str, ...]:
        """The strings inside the value at ``path``: one string, or an array of them."""
        return tuple(_unquote(found) for found in _STRING.findall(self.raw(path) or ""))


def outline(text: str) -> Outline:
    """Read the structure of ``text``; :class:`TomlError` where it cannot be followed."""
    tables: list[Table] = []
    keys: list[Key] = []
    seen_keys: set[KeyPath] = set()
    table: KeyPath = ()
    at = 0
    while True:
        at = _next_item(text, at)
        if at == len(text):
            break
        line_start = text.rfind("\n", 0, at) + 1
        if text[at] == "[":
            header = _header(text, at)
            if not header.array and any(seen.path == header.path for seen in tables):
                raise TomlError(f"[{'.'.join(header.path)}] appears twice", text, at)
            if header.array:
                # Each of an array's tables has its keys anew.
                seen_keys = {key for key in seen_keys if key[: len(header.path)] != header.path}
            tables.append(header)
            table, at = header.path, header.end
            continue
        name, after = _dotted(text, at)
        if text[after : after + 1] != "=":
            raise TomlError("neither a table, nor key = value, nor a comment", text, at)
        value_start = _blank(text, after + 1)
        at = _value_end(text, value_start)
        if table + name in seen_keys:
            raise TomlError(f"{'.'.join(table + name)} appears twice", text, line_start)
        seen_keys.add(table + name)
        keys.append(Key(table + name, table, line_start, value_start, at))
        at = _line_end(text, at)
    return Outline(text, tuple(tables), tuple(keys))


def set_key(text: str, table: Sequence[str], name: str, value: str) -> str:
    """``text`` with ``name = value`` (``value`` as TOML) in ``table``, which is added at the end if missing.

    The table () is the top of the file.
    """
    found = outline(text)
    path = tuple(table)
    key = found.find((*path, name))
    if key is not None:
        return text[: key.value_start] + value + text[key.value_end :]
    _refuse_closed(found, path)
    header = next((seen for seen in found.tables if seen.path == path), None)
    if header is None and path:
        separator = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{separator}[{'.'.join(map(quote_key, path))}]\n  {name} = {value}\n"
    start, body = (header.start, header.end) if header else (0, 0)
    siblings = [key for key in found.keys if key.table == path and key.line_start >= body]
    last = siblings[-1] if siblings else None
    lead = _BLANK.match(text, last.line_start if last else start)
    indentation = (lead.group() if lead else "") if last or header else ""
    indentation += "  " if header and not last else ""
    end = _line_end(text, last.value_end) if last else body
    newline = "" if not end or text[:end].endswith("\n") else "\n"
    return f"{text[:end]}{newline}{indentation}{name} = {value}\n{text[end:]}"


def quote_key(name: str) -> str:
    """A key as TOML writes it: bare where it may be, else in quotes."""
    return name if _BARE_KEY.fullmatch(name) else json.dumps(name)


def _refuse_closed(found: Outline, path: KeyPath) -> None:
    """Inline tables and tables made by dotted keys cannot be extended by a header (TOML 1.0)."""
    for key in found.keys:
        for length in range(len(key.table) + 1, len(key.path) + 1):
            if key.path[:length] == path[:length]:
                raise TomlError(
                    f"{'.'.join(key.path)} is set inside its parent, so no table can be added there; "
                    f"write it under [{'.'.join(map(quote_key, path[:length]))}]",
                    found.text,
                    key.value_start,
                )
    for table in found.tables:
        if table.array and path[: len(table.path)] == table.path:
            raise TomlError(f"[[{'.'.join(table.path)}]] is an array of tables", found.text, table.start)


def _next_item(text: str, at: int) -> int:
    while at < len(text):
        if text[at] == "#":
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
        elif text[at].isspace():
            at += 1
        else:
            return at
    return at


def _header(text: str, at: int) -> Table:
    array = text.startswith("[[", at)
    path, after = _dotted(text, at + (2 if array else 1))
    closing = "]]" if array else "]"
    if not text.startswith(closing, after):
        raise TomlError("a table header that does not end", text, at)
    return Table(path, text.rfind("\n", 0, at) + 1, _line_end(text, after + len(closing)), array)


def _dotted(text: str, at: int) -> tuple[KeyPath, int]:
    """A dotted key and the position after it and its blanks."""
    parts: list[str] = []
    while True:
        at = _blank(text, at)
        found = _STRING.match(text, at) or _BARE_KEY.match(text, at)
        if found is None:
            raise TomlError("a key was expected", text, at)
        parts.append(_unquote(found.group()) if found.re is _STRING else found.group())
        at = _blank(text, found.end())
        if text[at : at + 1] != ".":
            return tuple(parts), at
        at += 1


def _value_end(text: str, at: int) -> int:
    """Where the value that starts at ``at`` ends; nested arrays and inline tables are followed by their brackets."""
    depth = 0
    start = at
    while at < len(text):
        found = _STRING.match(text, at) or _SCALAR.match(text, at)
        if found:
            at = found.end()
        elif text[at] in "[{":
            depth += 1
            at += 1
        elif depth and text[at] in "]}":
            depth -= 1
            at += 1
        elif depth and (text[at] in ",=" or text[at].isspace()):
            at += 1
            continue
        elif depth and text[at] == "#":
            at = _next_item(text, at)
            continue
        else:
            break
        if depth == 0:
            return at
    raise TomlError("a value that does not end" if depth else "a value was expected", text, start)


def _line_end(text: str, at: int) -> int:
    """The start of the next line; only a comment may be in between."""
    at = _blank(text, at)
    end = text.find("\n", at)
    end = len(text) if end == -1 else end + 1
    rest = text[at:end].strip()
    if rest and not rest.startswith("#"):
        raise TomlError(f"{rest.split()[0]!r} after a value", text, at)
    return end


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _unquote(written: str) -> str:
    if written.startswith("'"):
        return written.strip("'")
    try:
        return str(json.loads(written))
    except ValueError:
        return written.strip('"')
