# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Texts of a node without secrets, before they leave it for somebody else; pure.

A diff may show what its line does not prove to be a secret; here nobody looks again before a vendor does, so that what
stands after a name like a secret's is hidden wherever it stands in a line, and so are the node's own secrets by value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any

from .._node.json_file import parse_json
from .._node.secret_texts import masked_texts
from .._node.secret_words import HIDDEN, is_secret, without_secrets

# Shorter values are words that a log has for other reasons.
SHORTEST_VALUE = 8
# Whatever stands after a name that sounds like a secret: NAME=x, name: x, "name" : "x".
_NAMED = re.compile(
    r"(?P<before>(?<![\w.-])\\*[\"']?(?P<name>[A-Za-z_][\w.-]*)\\*[\"']?[ \t]*(?:=>|:=|[=:])[ \t]*)"
    r"(?!\(not shown)(?P<value>\\*\"[^\"\\\n]*\\*\"|'[^'\n]*'|[^\s,;&|\"'\])}]+)"
)
# Of a key that is cut at the beginning or the end of what was read, too.
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?P<kind>[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----.*?(?:-----END (?P=kind)-----|\Z)", re.DOTALL
)
# Of one whose beginning was cut off; a journal has words of its own before each line of it.
_END_OF_KEY = re.compile(
    r"\A(?:(?![^\n]*-----BEGIN )[^\n]*\n){0,100}(?![^\n]*-----BEGIN )[^\n]*"
    r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
)
# A test's verdict, and no password.
_NO_SECRETS = ("PASS",)
# crypt(3), as /etc/shadow and kickstart files have it.
_HASH = re.compile(r"\$(?:1|2[aby]|5|6|7|y|gy)\$[A-Za-z0-9./$=,]{20,}")
_PARSED_SUFFIX, _LINES_SUFFIX = ".json", ".jsonl"


def redacted(text: str, name: str, values: Collection[str] = ()) -> str:
    """The text of the file ``name`` without secrets; ``values`` are those that the node itself knows to be some."""
    text = _END_OF_KEY.sub(HIDDEN, _PRIVATE_KEY.sub(HIDDEN, text))
    # The longest first: one may be the beginning of another.
    for value in sorted((one for one in values if len(one) >= SHORTEST_VALUE), key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    if name.endswith(_PARSED_SUFFIX):
        text = _document(text, indent=1)
    elif name.endswith(_LINES_SUFFIX):
        text = "\n".join(_document(line) if line.strip() else line for line in text.split("\n"))
    # As a new file: of the old one each secret would be looked for twice.
    _nothing, shown = masked_texts("", text)
    return _HASH.sub(HIDDEN, _NAMED.sub(_hidden, shown))


def how_many_hidden(text: str) -> int:
    """Places in it at which something was."""
    return text.count(HIDDEN)


def _hidden(found: re.Match[str]) -> str:
    is_hidden = is_secret(found["name"]) and found["name"] not in _NO_SECRETS
    return found["before"] + HIDDEN if is_hidden else found[0]


def _document(text: str, indent: int | None = None) -> str:
    """By its keys; what is no whole document is text like any other."""
    try:
        data: Any = parse_json(text, named=True)
        return json.dumps(without_secrets(data), indent=indent)
    except (ValueError, RecursionError):
        return text
