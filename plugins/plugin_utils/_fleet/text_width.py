# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Text in so many columns of a screen; what stands on a terminal has no character that it obeys."""

from __future__ import annotations

import textwrap
import unicodedata

from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import one_line

_WIDE = ("W", "F")


def plain(text: object) -> str:
    """Words of others in one line, with single blanks."""
    return " ".join(one_line(str(text)).split())


def columns_of(text: str) -> int:
    """How many columns the text takes: East Asian characters take two."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(one) in _WIDE else not unicodedata.combining(one) for one in text)


def cut(text: str, width: int) -> str:
    """The text in at most so many columns, with dots where something is left out."""
    if columns_of(text) <= width:
        return text
    kept = text[: max(width - 1, 0)]
    while kept and columns_of(kept) > width - 1:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def wrapped(text: str, width: int, indent: str, most: int) -> list[str]:
    """The text over at most so many lines; all but the first are behind ``indent``."""
    lines = textwrap.wrap(text, width, subsequent_indent=indent, max_lines=most, placeholder=" …")
    return [cut(line, width) for line in lines]


def visible(text: str) -> str:
    """Text of many lines, as of a diff: what a terminal would obey is written out, so that two texts stay two."""
    return "\n".join(_written_out(line) for line in text.split("\n"))


def _written_out(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(one if one.isprintable() or one == "\t" else ascii(one)[1:-1] for one in line)
