# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Any value without its secrets: for results, diffs, reports and a task's own options.

The value of a variable, and of an option in a command, is hidden unless its name is known to be harmless, or it is a
number, a switch or a program's file; that of anything else where its name sounds like a secret.
"""

from __future__ import annotations

import json
import re
from typing import Any, Mapping, Sequence

from . import secret_shapes
from .harmless_names import is_harmless, is_hidden_here
from .secret_shapes import is_secret_name, without_shapes

# What is shown in the place of a secret.
HIDDEN = secret_shapes.HIDDEN

# Keys of options and of descriptions that hold variables, and commands.
_ENVIRONMENTS = re.compile(r"(?:.*_)?(?:environment|env)", re.IGNORECASE)
_COMMANDS = re.compile(r"(?:.*_)?(?:command|cmd|argv|args|arguments|wrapper)", re.IGNORECASE)
_WORD = re.compile(r"(?:--?|\+{1,2}|~)?(?P<name>[A-Za-z_@][\w.@/-]*)(?P<value>=.*)?", re.DOTALL)
# curl -uNAME:PASSWORD, mysql -pPASSWORD.
_JOINED = re.compile(r"(?P<option>-[A-Za-z])(?P<value>.*:.*|(?<=-[pu]).+)", re.DOTALL)
_ASSIGNED = re.compile(r"(?P<before>(?<![\w./$-])(?P<name>[A-Za-z_]\w*)=)(?P<value>\"[^\"]*\"|'[^']*'|[^\s;&|\"'(]+)")
_LETTER = re.compile(r"-[A-Za-z]")
_NUMBER = re.compile(r"[-+]?(?:\d{1,15}|\d{0,15}\.\d{1,17})(?:[eE][-+]?\d{1,3})?")
_PLAIN = re.compile(
    r"""(?:
        | true | false | yes | no | on | off | none | null | auto | all | default
        | \$\{?\w+\}? | \$[?!@\#*$]
        | \d+(?:\.\d+)+ | \d+[KMGTkmgt]i?B?
        | [\w./-]{1,200}\.(?:py|sh|ya?ml|json|toml|txt|csv|jsonl|parquet|safetensors|bin)
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def is_environment_key(name: str) -> bool:
    """Whether what stands under it are variables."""
    return _ENVIRONMENTS.fullmatch(name) is not None


def is_command_key(name: str) -> bool:
    """Whether what stands under it are the words of a command."""
    return _COMMANDS.fullmatch(name) is not None


def is_secret(name: str) -> bool:
    """Whether a variable, an option or a key of this name sounds as if its value were one, or the site says so."""
    return is_secret_name(name) or is_hidden_here(name)


def is_shown(name: str, value: object) -> bool:
    """Whether the value of a variable, or of an option of a command, may be shown."""
    if is_secret(name):
        return False
    return value is None or isinstance(value, (bool, int, float)) or is_harmless(name) or _is_plain(str(value))


def is_secret_option(word: str) -> bool:
    """Whether a word of a command is an option whose value, the word after it, sounds like a secret."""
    found = _WORD.fullmatch(word)
    return word.startswith("-") and found is not None and found["value"] is None and is_secret(found["name"])


def without_credentials(text: str) -> str:
    """The text without who logs in, and with what, in its URLs, without the values of options and members in it whose
    names sound like secrets, and without what has the form of a token."""
    return without_shapes(text, is_secret)


def without_secrets(value: Any, name: str = "") -> Any:
    """Any value of plain data as it may be shown; ``name`` is the key that it stands under."""
    if isinstance(value, Mapping):
        if is_environment_key(name):
            return without_variables(value)
        return {key: without_secrets(part, str(key)) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return _without_secret_words(value, name, is_command=is_command_key(name))
    if value is None or isinstance(value, bool):
        return value
    if is_secret(name):
        return HIDDEN
    return without_credentials(value) if isinstance(value, str) else value


def without_variables(environment: Mapping[Any, Any]) -> dict[Any, Any]:
    """Variables, of which those alone have values that are known to be harmless."""
    return {
        name: without_secrets(value, str(name))
        if is_shown(str(name), value) or isinstance(value, (Mapping, list))
        else HIDDEN
        for name, value in environment.items()
    }


def without_options(command: Sequence[Any]) -> list[Any]:
    """The words of a command, without the values of options that are not known to be harmless."""
    return _without_secret_words(command, "", is_command=True)


def _without_secret_words(words: Sequence[Any], name: str, *, is_command: bool) -> list[Any]:
    may = is_shown if is_command else _does_not_sound
    shown: list[Any] = []
    inside = _inside if is_command else without_credentials
    option = ""
    for word in words:
        text = word if isinstance(word, str) else ""
        found = _WORD.fullmatch(text)
        joined = _JOINED.fullmatch(text) if is_command and not (found and found["value"]) else None
        is_option = text.startswith("--") or (_LETTER.fullmatch(text) is not None and not is_secret(option))
        if option and not is_option and not may(option, word):
            shown.append(HIDDEN)
            option = ""
            continue
        if found and found["value"] is not None:
            value = found["value"][1:]
            shown.append(f"{text[: found.start('value')]}={inside(value) if may(found['name'], value) else HIDDEN}")
        elif joined and not is_harmless(text[1:]):
            shown.append(f"{joined['option']}{HIDDEN}")
        else:
            shown.append(inside(word) if text and not is_secret(name) else without_secrets(word, name))
        is_bare = found is not None and text.startswith("-") and found["value"] is None
        option = text if is_bare else ""
    return shown


def _does_not_sound(name: str, _value: object) -> bool:
    return not is_secret(name)


def _inside(word: str) -> str:
    """A word, or an option's value, that may be a document of its own."""
    if word[:1] in "{[":
        try:
            return json.dumps(without_secrets(json.loads(word), "environment"))
        except (ValueError, RecursionError):
            pass
    # Code for a shell, or a line of words, which sets variables of its own.
    return without_credentials(_ASSIGNED.sub(_assigned, word) if " " in word else word)


def _assigned(found: re.Match[str]) -> str:
    value = found["value"]
    return found[0] if is_shown(found["name"], value.strip("\"'")) else found["before"] + HIDDEN


def _is_plain(value: str) -> bool:
    """Whether no secret has this form: numbers, also several, a switch, a version, a program's own file."""
    return all(_NUMBER.fullmatch(part) or _PLAIN.fullmatch(part) for part in value.split(","))
