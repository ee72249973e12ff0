# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Words of nodes, ranks and files as a terminal may have them: none that it obeys, none that turns the writing."""

from __future__ import annotations

import unicodedata

# Before the further lines of words that others chose: what looks like a line of the play itself is not one.
INDENT = "  | "
# Controls and what directs writing (bidirectional marks among others), what is no character, line and paragraph ends.
_OBEYED = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
# Longer than any line that a person reads.
LONGEST = 4000


def one_line(text: str, longest: int = LONGEST) -> str:
    """The text in one line, with a blank for each character that is none to read."""
    text = text[: longest + 1]
    if not text.isprintable():
        text = "".join(" " if unicodedata.category(one) in _OBEYED else one for one in text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def lines_of(text: str, indent: str = INDENT) -> str:
    """The text with its lines, each as :func:`one_line` has it, and all but the first behind ``indent``."""
    first, *more = text.split("\n")
    return "\n".join([one_line(first), *(indent + one_line(line.removeprefix(" " * len(indent))) for line in more)])
