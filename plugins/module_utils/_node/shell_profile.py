# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a file of ``/etc/profile.d`` exports, read as data: no shell is started.

Only assignments are understood, in the forms of POSIX.1 "Shell Command Language" that such files are made of. What
else may stand there, a shell alone can tell: reading ends at such a line, and it is named. Nothing is guessed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Union

LARGEST = 64 * 1024

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_ASSIGNMENT = re.compile(rf"(?P<name>{_NAME})=")
_EXPORTED_NAME = re.compile(rf"{_NAME}(?=[ \t;]|$)")
_EXPORT = re.compile(r"export[ \t]+")
_BLANKS = re.compile(r"[ \t]*")
# Characters that mean nothing to a shell, in or at the beginning of a value. ~ and backslashes do.
_PLAIN = re.compile(r"[A-Za-z0-9_./:,+@%^=-]+")
_REFERENCE = re.compile(rf"\$(?:(?P<bare>{_NAME})|\{{(?P<name>{_NAME})(?P<operator>:?[-+])?)")
# Of what a simple command prints only the shell knows, but it is known where the command ends.
_COMMAND = re.compile(r"""\$\([^()'"`\\$]*\)|`[^'"`\\$]*`""")
# Commands that set no variable and open nothing that a later line closes.
_HARMLESS = re.compile(r"[ \t]*(?:ulimit|umask)(?:[ \t]+[A-Za-z0-9-]+)*[ \t]*")
_MENTIONED = re.compile(rf"(?<![\w$])(?<!\$\{{)({_NAME})|\$\{{({_NAME}):?=")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

Value = Union[str, None]
"""The text; None where it depends on what the shell itself has."""


@dataclass(frozen=True)
class Exported:
    """A variable that the file exports, and the line (from 1) that gave it its value."""

    value: Value
    line: int


@dataclass(frozen=True)
class ShellProfile:
    """What a file does to a shell's variables.

    ``exported`` is what it gave a value, by name. ``unread`` is the line at which reading ended (None: all was read),
    with its text, and ``doubtful`` are the names in what follows there: it may change them, so their values are not
    known. ``variables`` and ``export_names`` are the shell's after this file and those before it.
    """

    exported: Mapping[str, Exported]
    variables: Mapping[str, Value]
    export_names: frozenset[str]
    unread: tuple[int, str] | None = None
    doubtful: frozenset[str] = frozenset()


class _NotPlainError(Exception):
    """The line is more than assignments."""


def read_file(path: str) -> tuple[str, str]:
    """A profile's text, and why it was not read (empty: it was).

    Nothing is waited for: a FIFO in the file's place is no profile. What others than root can write is none either,
    since its variables would reach the jobs of all.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return "", f"cannot be read: {error.strerror}"
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return "", "is not a regular file"
        if status.st_uid not in (0, os.geteuid()) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return "", "can be written by users other than root"
        # A regular file that is not longer comes in one piece.
        data = os.read(handle, LARGEST + 1)
    except OSError as error:
        return "", f"cannot be read: {error.strerror}"
    finally:
        os.close(handle)
    if len(data) > LARGEST:
        return "", f"has more than {LARGEST // 1024} KiB"
    try:
        return data.decode(), ""
    except UnicodeDecodeError:
        return "", "is not UTF-8"


def parse(text: str, before: ShellProfile | None = None) -> ShellProfile:
    """Read a profile; ``before`` is what the files before it came to.

    A name that none of them sets counts as unset in ``${NAME:-word}`` and ``${NAME:+word}``, as it is in a service; a
    plain ``$NAME`` of it makes the value one that only the shell knows.
    """
    known: dict[str, Value] = dict(before.variables) if before else {}
    names = set(before.export_names) if before else set()
    set_at: dict[str, int] = {}
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if _HARMLESS.fullmatch(line):
            continue
        scope = dict(known)
        try:
            found = list(_assignments(line, scope))
        except _NotPlainError:
            unread, doubtful = (number, line), _mentioned(lines[number - 1 :])
            break
        known = scope
        set_at.update({name: number for name, is_set, _exported in found if is_set})
        names |= {name for name, _set, is_exported in found if is_exported}
    else:
        unread, doubtful = None, frozenset()
    known.update(dict.fromkeys(doubtful))
    exported = {name: Exported(known[name], line) for name, line in set_at.items() if name in names}
    return ShellProfile(exported, known, frozenset(names), unread, doubtful)


def _mentioned(lines: Sequence[str]) -> frozenset[str]:
    """Names that these lines may give another value or take away; a plain ``$NAME`` does neither."""
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    return frozenset(first or second for first, second in _MENTIONED.findall(text))


def _assignments(line: str, scope: dict[str, Value]) -> Iterator[tuple[str, bool, bool]]:
    """(name, whether it gets a value, whether it is exported) of a line's assignments, made in ``scope`` at once."""
    if _CONTROL.search(line):
        raise _NotPlainError
    at = _after_blanks(line, 0)
    while at < len(line) and line[at] != "#":
        export = _EXPORT.match(line, at)
        at = export.end() if export else at
        start = at
        # The words of export are expanded before it sets the first one; plain assignments follow one another.
        seen = dict(scope) if export else scope
        while at < len(line) and line[at] not in ";#":
            assignment = _ASSIGNMENT.match(line, at)
            if assignment:
                name = assignment["name"]
                scope[name], at = _value(line, assignment.end(), seen)
                yield name, True, export is not None
            elif export and (bare := _EXPORTED_NAME.match(line, at)):
                at = bare.end()
                yield bare.group(), False, True
            else:
                raise _NotPlainError
            at = _after_blanks(line, at)
        if at == start:
            raise _NotPlainError
        if at < len(line) and line[at] == ";":
            at = _after_blanks(line, at + 1)


def _after_blanks(line: str, at: int) -> int:
    match = _BLANKS.match(line, at)
    return match.end() if match else at


def _value(line: str, at: int, scope: Mapping[str, Value], end: str = " \t;") -> tuple[Value, int]:
    """One word from ``at`` on, and where it ends: before any of ``end``, or with the line."""
    value: Value = ""
    while at < len(line) and line[at] not in end:
        if line[at] == "'":
            close = line.find("'", at + 1)
            if close < 0:
                raise _NotPlainError
            piece: Value = line[at + 1 : close]
            at = close + 1
        elif line[at] == '"':
            piece, at = _quoted(line, at + 1, scope)
        elif line[at] in "$`":
            piece, at = _expansion(line, at, scope)
        elif plain := _PLAIN.match(line, at):
            piece, at = plain.group(), plain.end()
        else:
            raise _NotPlainError
        value = None if value is None or piece is None else value + piece
    return value, at


def _quoted(line: str, at: int, scope: Mapping[str, Value]) -> tuple[Value, int]:
    value: Value = ""
    while at < len(line) and line[at] != '"':
        piece: Value
        if line[at] in "$`":
            piece, at = _expansion(line, at, scope)
        elif line[at] == "\\":
            piece, at = line[at + 1 : at + 2], at + 2
            if piece not in ('"', "\\", "$", "`"):
                raise _NotPlainError
        else:
            piece, at = line[at], at + 1
        value = None if value is None or piece is None else value + piece
    if at >= len(line):
        raise _NotPlainError
    return value, at + 1


def _expansion(line: str, at: int, scope: Mapping[str, Value]) -> tuple[Value, int]:
    if command := _COMMAND.match(line, at):
        return None, command.end()
    match = _REFERENCE.match(line, at)
    if match is None:
        raise _NotPlainError
    if match["bare"]:
        return scope.get(match["bare"]), match.end()
    name, operator, at = match["name"], match["operator"] or "", match.end()
    word, at = _value(line, at, scope, end="}") if operator else ("", at)
    if line[at : at + 1] != "}":
        raise _NotPlainError
    present = scope.get(name)
    if not operator or (name in scope and present is None):
        return present, at + 1
    is_set = name in scope and (present != "" or ":" not in operator)
    if operator.endswith("-"):
        return (present if is_set else word), at + 1
    return (word if is_set else ""), at + 1
