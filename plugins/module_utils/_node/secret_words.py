# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What sounds like a secret, and any value without it: for results, diffs, reports and a task's own options."""

from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

HIDDEN = "(not shown)"

# A part of a name between separators, or (PGPASSWORD, apiKey) its end. MAX_TOKENS, TOKENIZERS_PARALLELISM and
# num_key_value_heads are none.
_SECRET = re.compile(
    r"""(?:
        (?:^|[_.-])(?:KEYS?(?!_VALUE)|PASS|AUTH|COOKIE|SIG|SIGNATURE)
        | (?:API|ACCESS|SECRET|PRIVATE|SIGNING|ENCRYPTION)KEYS?
        | TOKEN | SECRETS? | PASSWORD | PASSWD | PASSPHRASE | CREDENTIALS?
        | (?<=[_.-])PWD
    )(?:[_.-]|\d|$)""",
    re.IGNORECASE | re.VERBOSE,
)
# RFC 3986: the user-info ends at the last @ before the path. A token often stands there without a name.
_USER = re.compile(r"(?P<scheme>\b[A-Za-z][A-Za-z0-9+.-]*://)[^/\s?#\"']*@")
_QUERY = re.compile(r"(?P<before>[?&;](?P<name>[A-Za-z][\w.-]*)=)[^&;#\s\"']+")
# An option with its value as a word of a command, quoted or not.
_OPTION = re.compile(r"(?P<before>(?<![\w-])--?(?P<name>[A-Za-z][\w.-]*)=)(?:\"[^\"]*\"|'[^']*'|[^\s\"'])+")
_WORD = re.compile(r"(?:--?)?(?P<name>[A-Za-z_][\w.-]*)(?P<value>=.*)?", re.DOTALL)


def is_secret(name: str) -> bool:
    """Whether a variable, an option or a key of this name sounds as if its value were one."""
    return _SECRET.search(name) is not None


def is_secret_option(word: str) -> bool:
    """Whether a word of a command is an option whose value, the word after it, sounds like a secret."""
    found = _WORD.fullmatch(word)
    return word.startswith("-") and found is not None and found["value"] is None and is_secret(found["name"])


def without_credentials(text: str) -> str:
    """The text without who logs in, and with what, in its URLs, and without the values of options in it."""
    text = _USER.sub(rf"\g<scheme>{HIDDEN}@", text)
    for pattern in (_QUERY, _OPTION):
        text = pattern.sub(lambda found: found["before"] + HIDDEN if is_secret(found["name"]) else found[0], text)
    return text


def without_secrets(value: Any, name: str = "") -> Any:
    """Any value of plain data as it may be shown; ``name`` is the key that it stands under.

    In a list that is a command also the words of options and of assignments whose names sound like secrets.
    """
    if isinstance(value, Mapping):
        return {key: without_secrets(part, str(key)) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return _without_secret_words(value, name)
    if value is None or isinstance(value, bool):
        return value
    if is_secret(name):
        return HIDDEN
    return without_credentials(value) if isinstance(value, str) else value


def _without_secret_words(words: Sequence[Any], name: str) -> list[Any]:
    shown: list[Any] = []
    is_reported = False
    for word in words:
        found = _WORD.fullmatch(word) if isinstance(word, str) else None
        if is_reported and not str(word).startswith("--"):
            shown.append(HIDDEN)
        elif found and found["value"] is not None and is_secret(found["name"]):
            shown.append(f"{word[: found.start('value')]}={HIDDEN}")
        else:
            shown.append(without_secrets(word, name))
        is_reported = isinstance(word, str) and is_secret_option(word)
    return shown
