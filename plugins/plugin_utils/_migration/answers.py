# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What becomes of each setting of another tool; pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Optional

# In the order in which they are shown: what a person has to do something about comes first.
LOOK, KEPT, NOT_HERE, NOT_NEEDED = "look at it", "kept", "not here", "not needed"
VERDICTS = (LOOK, KEPT, NOT_HERE, NOT_NEEDED)


@dataclass(frozen=True)
class Answer:
    """Of the setting ``name`` in a file, with its ``value`` as it may be shown."""

    file: str
    name: str
    value: str
    verdict: str
    text: str


@dataclass(frozen=True)
class Setting:
    """One of another tool's, as its file has it. ``host`` is empty, or the one that it counts for."""

    file: str
    name: str
    value: Any
    host: str = ""


# The value as variables of ours; raises ValueError with a clause that says why it cannot be one.
Ours = Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Rule:
    """The answer to settings of a name. With ``ours`` they are kept, and ``text`` says where it is described.

    ``reads_templates``: ``ours`` takes of a value only what stands outside of its templates.
    """

    verdict: str
    text: str
    ours: Optional[Ours] = None
    reads_templates: bool = False


def not_needed(reason: str) -> Rule:
    return Rule(NOT_NEEDED, reason)


def not_here(reason: str) -> Rule:
    return Rule(NOT_HERE, reason)


def kept(ours: Ours, text: str = "", *, reads_templates: bool = False) -> Rule:
    return Rule(KEPT, text, ours, reads_templates)


def is_template(value: Any) -> bool:
    """Whether Ansible, or a shell, would make something else of it."""
    if isinstance(value, str):
        return any(mark in value for mark in ("{{", "{%", "{#", "$(", "${", "`"))
    if isinstance(value, Mapping):
        return any(is_template(part) for pair in value.items() for part in pair)
    return isinstance(value, (list, tuple)) and any(map(is_template, value))
