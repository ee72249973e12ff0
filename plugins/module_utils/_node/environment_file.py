# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A file of ``NAME=value`` lines that systemd's ``EnvironmentFile=`` and ``set -a; . file`` in a shell read alike.

Rules: systemd.exec(5) "EnvironmentFile=" and POSIX.1 "Shell Command Language", 2.2 Quoting. The two differ on many
texts (``~``, ``#`` after a blank, backslashes, several words), so only two forms are written and read: a bare word of
characters that mean nothing to either, and double quotes with a backslash before ``"``, ``\\``, ``$`` and backquote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from .._errors import GaudiError

# No ~ (a shell expands it after = and :) and no \ among the bare characters.
_BARE = re.compile(r"[A-Za-z0-9_./:,+@%^=-]*")
_SPECIAL = re.compile(r'["\\$`]')
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LINE = re.compile(
    rf'(?P<name>{_NAME.pattern})=(?:(?P<bare>{_BARE.pattern})|"(?P<quoted>(?:[^"\\$`]|\\["\\$`])*)")',
)


class Setting(NamedTuple):
    """One variable and where its value comes from.

    ``source`` is the document or the person that says so, ``origin`` what brought it here (``profile ...``,
    ``network ...``, ``option ...``, ``overrides``, ``environment``).
    """

    name: str
    value: str
    source: str
    origin: str = ""

    @property
    def provenance(self) -> str:
        """Both as one phrase; what the operator set names its option already."""
        return f"{self.origin}: {self.source}" if " " in self.origin else self.source


def render(settings: Iterable[Setting], heading: str) -> str:
    """The file's text: ``heading``, then each setting below a comment with its source."""
    lines = [_comment(heading)]
    for setting in settings:
        lines += ["", _comment(setting.provenance), assignment(setting.name, setting.value)]
    return "\n".join(lines) + "\n"


def assignment(name: str, value: str) -> str:
    """One line; raises :class:`GaudiError` for a name or a value that the two readers cannot share."""
    if not _NAME.fullmatch(name):
        raise GaudiError(
            f"{name!r} is not the name of an environment variable: use letters, digits and _, no digit first."
        )
    wrong = next((letter for letter in value if not _fits(letter)), None)
    if wrong is not None:
        raise GaudiError(
            f"{name} holds {wrong!r}, which an environment file cannot: remove line breaks, control characters "
            "and what is not valid UTF-8."
        )
    if _BARE.fullmatch(value):
        return f"{name}={value}"
    return f'{name}="{_SPECIAL.sub(_escaped, value)}"'


def is_bare(value: str) -> bool:
    """Whether the value is in the file as it is, so that readers without quoting rules take it alike."""
    return _BARE.fullmatch(value) is not None


def parse(text: str, path: str) -> dict[str, str]:
    """The variables of a file's text; of a name given twice the last counts, as in both readers.

    Raises :class:`GaudiError` naming ``path`` and line for anything that systemd and a shell could read differently.
    """
    values: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None or not all(map(_fits, line)):
            raise GaudiError(
                f"{path}, line {number}, is read differently by systemd and a shell: write NAME=value, "
                'with the value in "double quotes" if it has other characters than letters, digits and _./:,+@%^=-.',
                path=path,
            )
        bare, quoted = match["bare"], match["quoted"]
        values[match["name"]] = bare if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    return values


def provenances(text: str) -> dict[str, str]:
    """What :func:`render` wrote above each variable; empty for one without a comment above it."""
    found: dict[str, str] = {}
    above = ""
    for line in text.split("\n"):
        name, equals, _value = line.partition("=")
        if line.startswith("#"):
            above = line.lstrip("# ")
        elif equals:
            found[name] = above
            above = ""
        else:
            above = ""
    return found


def _escaped(match: re.Match[str]) -> str:
    return f"\\{match.group()}"


def _comment(text: str) -> str:
    # systemd before 254 takes a backslash at the end of a comment for a continuation of the comment.
    return f"# {' '.join(text.split())}".rstrip("\\ ")


def _fits(letter: str) -> bool:
    """Whether systemd keeps a variable with this character (env_value_is_valid, utf8_is_valid) or drops it."""
    code = ord(letter)
    control = code < 0x20 or code == 0x7F
    no_character = 0xD800 <= code <= 0xDFFF or 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE
    return not control and not no_character
