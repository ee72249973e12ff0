# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The text of a file before and after a change, without secrets: diffs go to logs that everybody reads."""

from __future__ import annotations

import json
import re
from typing import Callable

from .json_file import parse_object
from .secret_words import HIDDEN, is_secret, is_secret_option, without_credentials, without_secrets

# In the new text of a diff, so that the change itself can be seen.
HIDDEN_CHANGE = "(not shown, another value)"
# A variable in an environment file or a script, and one in a description. A value has no line break
# (node.environment_file.assignment), also not in a script that is a word of another one.
_ASSIGNED = re.compile(r"(?P<before>\s*(?:export )?)(?P<name>[A-Za-z_]\w*)(?P<after>=)(?P<value>.*)")
_MEMBER = re.compile(r'(?P<before>\s*")(?P<name>[A-Za-z_][\w.-]*)(?P<after>": )(?P<value>".*)')
_ELEMENT = re.compile(r'(?P<before>\s*)"(?P<value>.*)"(?P<after>,?)')
# A description in one line, as a batch script has it.
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
    option = ""
    for line in text.split("\n"):
        # A command in a description has a word a line: the value may stand below its option.
        lines.append(_line(line, shown) if not option else _below(line, option, shown))
        word = line.strip().rstrip(",").strip('"')
        option = word if is_secret_option(word) else ""
    return "\n".join(lines)


def _below(line: str, option: str, shown: Callable[[str, str], str]) -> str:
    match = _ELEMENT.fullmatch(line)
    return line if match is None else f'{match["before"]}"{shown(option, match["value"])}"{match["after"]}'


def _line(line: str, shown: Callable[[str, str], str]) -> str:
    match = _ASSIGNED.fullmatch(line)
    if match and is_secret(match["name"]):
        return f"{match['before']}{match['name']}{match['after']}{shown(match['name'], match['value'])}"
    match = _MEMBER.fullmatch(line)
    if match and is_secret(match["name"]):
        value, comma = match["value"].rstrip(","), "," if match["value"].endswith(",") else ""
        return f'{match["before"]}{match["name"]}{match["after"]}"{shown(match["name"], value)}"{comma}'
    match = _ONE_LINE.fullmatch(line)
    return f"{match['before']}{_described(match['value'])}" if match else without_credentials(line)


def _described(text: str) -> str:
    """A description in one line; the script's own lines tell which value is another one."""
    try:
        return json.dumps(without_secrets(parse_object(text)), sort_keys=True)
    except ValueError:
        return HIDDEN
