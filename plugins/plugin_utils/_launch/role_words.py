# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""A module's refusal in the words of the role that called it: its options as the operator has written them; pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import Answer, Ask
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_options import SpecifiedRole

# A refusal begins with the option that it is about, and may end with one to set.
_FIRST = re.compile(r"^[a-z_]+(?:\.[a-z_]+)?(?=[ :])")
_TO_SET = re.compile(r"\bset ([a-z_]+): (true|false)\b")


def in_words_of(roles: Sequence[SpecifiedRole], ask: Ask) -> Ask:
    """``ask``, with what nodes refuse in the words of the first of ``roles``; as it is where there is none."""
    if not roles:
        return ask
    role = roles[0]

    def said(answer: Answer) -> Answer:
        message = answer.get("msg")
        is_refusal = isinstance(message, str) and not answer.get("unreachable")
        return {**answer, "msg": in_role_words(str(message), role.prefix, role.options)} if is_refusal else answer

    def asked(module: str, arguments: Mapping[str, Mapping[str, Any]]) -> dict[str, Answer]:
        return {node: said(answer) for node, answer in ask(module, arguments).items()}

    return asked


def in_role_words(message: str, prefix: str, options: Collection[str]) -> str:
    """``message`` with the role's own option in the place of the module's, where the role has one of that name.

    ``options`` are the role's, which all begin with ``prefix``. A suboption is in an option of the role, as
    ``slurm.nodes``, or is an option of its own, as ``supervision.control_port``.
    """

    def first(match: re.Match[str]) -> str:
        outer, _dot, inner = match[0].partition(".")
        if f"{prefix}{outer}" in options:
            return f"{prefix}{match[0]}"
        return f"{prefix}{inner}" if inner and f"{prefix}{inner}" in options else match[0]

    def to_set(match: re.Match[str]) -> str:
        known = f"{prefix}{match[1]}" in options
        return f"set {prefix}{match[1]}={match[2]}" if known else match[0]

    told = _TO_SET.sub(to_set, _FIRST.sub(first, message))
    # Some say both themselves, for whoever uses the module alone.
    named = _FIRST.match(told)
    return told.replace(f" ({named[0]})", "", 1) if named else told
