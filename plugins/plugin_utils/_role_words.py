# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""A module's refusal in the words of the role that called it: its options as the operator has written them; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType

# A refusal begins with the option that it is about, and may end with one or two to correct, or one to set.
_FIRST = re.compile(r"^[a-z_]+(?:\.[a-z_]+)?(?=[ :])")
_TO_CORRECT = re.compile(r"\b(correct|raise|lower) ([a-z_]+)\b(?:( or )([a-z_]+)\b)?")
_TO_SET = re.compile(r"\bset ([a-z_]+): (true|false)\b")


def in_role_words(
    message: str, prefix: str, options: Collection[str], shared: Mapping[str, str] = MappingProxyType({})
) -> str:
    """``message`` with the role's own option in the place of the module's, where the role has one of that name.

    ``options`` are the role's, which all begin with ``prefix``; ``shared`` has the module's option -> the one of the
    whole collection that the role takes for it. A suboption is in an option of the role, as ``slurm.nodes``, or is an
    option of its own, as ``supervision.control_port``.
    """

    def of_role(name: str) -> str:
        return f"{prefix}{name}" if f"{prefix}{name}" in options else shared.get(name, "")

    def first(match: re.Match[str]) -> str:
        outer, dot, inner = match[0].partition(".")
        known = of_role(outer)
        return f"{known}{dot}{inner}" if known else (of_role(inner) if inner else "") or match[0]

    def to_set(match: re.Match[str]) -> str:
        known = of_role(match[1])
        return f"set {known}={match[2]}" if known else match[0]

    def to_correct(match: re.Match[str]) -> str:
        verb, *rest = match.groups(default="")
        return f"{verb} " + "".join(of_role(word) or word for word in rest)

    told = _TO_CORRECT.sub(to_correct, _TO_SET.sub(to_set, _FIRST.sub(first, message)))
    # Some say both themselves, for whoever uses the module alone.
    named = _FIRST.match(told)
    return told.replace(f" ({named[0]})", "", 1) if named else told
