# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A job as it is shown, without values that sound like secrets: results and diffs go to logs that everybody reads."""

from __future__ import annotations

import json
import re
from typing import Callable, Iterable, Mapping

from ..node.rendered_files import FileChange, differences
from .paths import JobPaths

_SECRET = re.compile(r"(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(_|$)", re.IGNORECASE)
HIDDEN = "(not shown)"
# In the new text of a diff, so that the change itself can be seen.
HIDDEN_CHANGE = "(not shown, another value)"
# A variable in an environment file or a script, and one in a description. A value has no line break
# (node.environment_file.assignment), also not in a script that is a word of another one.
_ASSIGNED = re.compile(r"(?P<before>\s*(?:export )?)(?P<name>[A-Za-z_]\w*)(?P<after>=)(?P<value>.*)")
_MEMBER = re.compile(r'(?P<before>\s*")(?P<name>[A-Za-z_]\w*)(?P<after>": )(?P<value>".*)')
# A description in one line, as a batch script has it.
_ONE_LINE = re.compile(r"(?P<before># [\w ]+: )(?P<value>\{.*)")


def masked(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables, without the values of those that sound like secrets."""
    return {name: HIDDEN if _SECRET.search(name) else value for name, value in environment.items()}


def masked_description(description: Mapping[str, object]) -> dict[str, object]:
    """A job's description as it may be shown."""
    environment = description.get("environment")
    return {**description, **({"environment": masked(environment)} if isinstance(environment, Mapping) else {})}


def shown_differences(changes: Iterable[FileChange], paths: JobPaths) -> list[dict[str, str]]:
    """Ansible's ``diff`` of a job's files. What its supervisor is told, with the secret of the run, is not in it."""
    told = differences(change for change in changes if change.wanted.path != paths.supervision)
    return [{**one, **dict(zip(("before", "after"), masked_texts(one["before"], one["after"])))} for one in told]


def masked_texts(before: str, after: str) -> tuple[str, str]:
    """A file of a job before and after a change: its environment, its description or its batch script."""
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
    return "\n".join(_line(line, shown) for line in text.split("\n"))


def _line(line: str, shown: Callable[[str, str], str]) -> str:
    match = _ASSIGNED.fullmatch(line)
    if match and _SECRET.search(match["name"]):
        return f"{match['before']}{match['name']}{match['after']}{shown(match['name'], match['value'])}"
    match = _MEMBER.fullmatch(line)
    if match and _SECRET.search(match["name"]):
        value, comma = match["value"].rstrip(","), "," if match["value"].endswith(",") else ""
        return f'{match["before"]}{match["name"]}{match["after"]}"{shown(match["name"], value)}"{comma}'
    match = _ONE_LINE.fullmatch(line)
    return f"{match['before']}{_described(match['value'])}" if match else line


def _described(text: str) -> str:
    """A description in one line; the script's own lines tell which value is another one."""
    try:
        description = json.loads(text)
    except ValueError:
        return HIDDEN
    return json.dumps(masked_description(description), sort_keys=True) if isinstance(description, dict) else HIDDEN
