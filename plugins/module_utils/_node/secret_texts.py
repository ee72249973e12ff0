# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The text of a file before and after a change, without secrets: diffs go to logs that everybody reads."""

from __future__ import annotations

import json
import re
import shlex
from typing import Callable

from .json_file import parse_object
from .secret_words import (
    HIDDEN,
    is_command_key,
    is_environment_key,
    is_secret,
    is_secret_option,
    is_shown,
    without_credentials,
    without_options,
    without_secrets,
)

# In the new text of a diff, so that the change itself can be seen.
HIDDEN_CHANGE = "(not shown, another value)"
# A variable in an environment file or a script, and one in a description. A value has no line break
# (node.environment_file.assignment), also not in a script that is a word of another one.
_ASSIGNED = re.compile(r"(?P<before>\s*(?:export )?)(?P<name>[A-Za-z_]\w*)(?P<after>=)(?P<value>.*)")
_MEMBER = re.compile(r'(?P<before>\s*")(?P<name>[A-Za-z_][\w.-]*)(?P<after>": )(?P<value>".*)')
# Variables are written in capitals, settings of most files are not.
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_UNQUOTED = "\"'"
_ELEMENT = re.compile(r'(?P<before>\s*)"(?P<value>.*)"(?P<after>,?)')
# A description in one line, as a batch script has it.
# Where a part of a description begins whose members are variables, or whose elements are words of a command.
_BEGINS = re.compile(r'\s*"(?P<name>[A-Za-z_]\w*)": [\[{]')
# What a unit or a script starts.
_STARTS = re.compile(r"(?P<before>\s*(?:ExecStart\w*=[-@:+!|]*|exec |srun |mpirun |torchrun ))(?P<words>.*)")
_ONE_LINE = re.compile(r"(?P<before># [\w ]+: )(?P<value>\{.*)")


def masked_texts(before: str, after: str) -> tuple[str, str]:
    """A file before and after a change: variables, a script, JSON, or anything with URLs."""
    old = _secrets(before)
    return _mapped(before, lambda _name, _value: HIDDEN), _mapped(
        after, lambda name, value: HIDDEN if value in old.get(name, {value}) else HIDDEN_CHANGE
    )


def _secrets(text: str) -> dict[str, set[str]]:
    """The secrets in a text, in all forms: in a script that is a word of another one quotes are quoted again."""
    found: dict[str, set[str]] = {}

    def note(name: str, value: str) -> str:
        found.setdefault(name, set()).add(value)
        return value

    _mapped(text, note)
    return found


def _mapped(text: str, shown: Callable[[str, str], str]) -> str:
    """The text with what ``shown`` makes of the name and the value of each secret in it."""
    lines: list[str] = []
    option = part = ""
    for line in text.split("\n"):
        begins = _BEGINS.fullmatch(line)
        part = begins["name"] if begins else "" if line.strip(" ,") in ("}", "]") else part
        is_command = is_command_key(part)
        # A command in a description has a word a line: the value may stand below its option.
        below = _below(line, option, shown) if option else None
        lines.append(_line(line, part, shown) if below is None else below)
        word = line.strip().rstrip(",").strip('"')
        is_option = is_command and below is None and word.startswith("-") and "=" not in word
        option = word if is_option or is_secret_option(word) else ""
    return "\n".join(lines)


def _below(line: str, option: str, shown: Callable[[str, str], str]) -> str | None:
    """The line below an option; None where it is no value of it, or one that may be shown."""
    match = _ELEMENT.fullmatch(line)
    if match is None or match["value"].startswith("--") or is_shown(option, match["value"]):
        return None
    return f'{match["before"]}"{shown(option, match["value"])}"{match["after"]}'


def _line(line: str, part: str, shown: Callable[[str, str], str]) -> str:
    match = _ASSIGNED.fullmatch(line)
    if match and _is_hidden(match["name"], match["value"]):
        return f"{match['before']}{match['name']}{match['after']}{shown(match['name'], match['value'])}"
    match = _MEMBER.fullmatch(line)
    if match:
        value, comma = match["value"].rstrip(","), "," if match["value"].endswith(",") else ""
        is_variable = is_environment_key(part) and not is_shown(match["name"], value.strip('"'))
        if is_variable or is_secret(match["name"]):
            return f'{match["before"]}{match["name"]}{match["after"]}"{shown(match["name"], value)}"{comma}'
    match = _ELEMENT.fullmatch(line) if is_command_key(part) else None
    if match:
        return f"{match['before']}{_word(match['value'])}{match['after']}"
    match = _STARTS.fullmatch(line)
    if match:
        return f"{match['before']}{_started(match['words'])}"
    match = _ONE_LINE.fullmatch(line)
    return f"{match['before']}{_described(match['value'])}" if match else without_credentials(line)


def _word(text: str) -> str:
    """A word of a command as JSON has it, which may itself be a document."""
    try:
        return json.dumps(without_options([json.loads(f'"{text}"')])[0])
    except ValueError:
        return f'"{HIDDEN}"'


def _started(text: str) -> str:
    """A command line; it stays as it is written where nothing of it is hidden."""
    try:
        words = shlex.split(text)
    except ValueError:
        return without_credentials(text)
    shown = without_options(words)
    return without_credentials(text) if shown == words else shlex.join(map(str, shown))


def _is_hidden(name: str, value: str) -> bool:
    """Whether the value of what is assigned in a line is."""
    if _VARIABLE.fullmatch(name):
        return not is_shown(name, value.strip().strip(_UNQUOTED))
    return is_secret(name)


def _described(text: str) -> str:
    """A description in one line; the script's own lines tell which value is another one."""
    try:
        return json.dumps(without_secrets(parse_object(text)), sort_keys=True)
    except ValueError:
        return HIDDEN
