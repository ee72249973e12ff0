# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Ansible's markup in descriptions, such as ``C()`` and ``O()``, as Markdown that a table cell can hold."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

# Inside the parentheses a backslash makes the next character plain.
_MARKUP = re.compile(r"\b(RV|[BCEILMOPRUV])\(((?:\\.|[^)\\])*)\)|\bHORIZONTALLINE\b")
# What Markdown would take for its own outside of code.
_SPECIAL = re.compile(r"([\\`*|\[\]])")


def markdown(text: str) -> str:
    """``text`` as Markdown on one line, safe in a table's cell."""
    parts, end = [], 0
    for found in _MARKUP.finditer(text):
        parts += [_plain(text[end : found.start()]), _rendered(found)]
        end = found.end()
    return " ".join("".join([*parts, _plain(text[end:])]).split())


def code(text: str) -> str:
    """``text`` as a code span that is the same in a table's cell, where a bar would begin the next cell."""
    if "|" in text or "`" in text:
        return f"<code>{html.escape(text, quote=False).replace('|', '&#124;').replace('`', '&#96;')}</code>"
    return f"`{text}`"


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", html.escape(text, quote=False))


def _rendered(found: re.Match[str]) -> str:
    if found[1] is None:
        return ""
    return _RENDERED[found[1]](re.sub(r"\\(.)", r"\1", found[2]))


def _name(text: str) -> str:
    """An option or a returned value, of whatever plugin: ``namespace.name.module#module:option=value``."""
    return code(re.sub(r"^[\w.]+#\w+:(?:\w+:)?", "", text))


def _link(text: str) -> str:
    words, _comma, url = text.rpartition(",")
    return f"[{_plain(words.strip())}]({url.strip()})"


_RENDERED: dict[str, Callable[[str], str]] = {
    "B": lambda text: f"**{_plain(text)}**",
    "C": code,
    "E": code,
    "I": lambda text: f"*{_plain(text)}*",
    "L": _link,
    "M": code,
    "O": _name,
    "P": lambda text: code(text.partition("#")[0]),
    "R": lambda text: _plain(text.rpartition(",")[0].strip()),
    "RV": _name,
    "U": lambda text: f"<{text}>",
    "V": code,
}
