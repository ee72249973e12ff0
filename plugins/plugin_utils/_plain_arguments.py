# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Arguments of tasks that only name a variable which is no template; pure.

Nearly all of a role's arguments are, and to compile each as a template in each host's process costs the controller more
than all else that it does for the task.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

NAMES_ONE = re.compile(r"\{\{ ([a-z_][a-z0-9_]*) \}\}")
NOT_PLAIN = object()
_MARKS = ("{{", "{%", "{#")


def plain_argument(value: object, variables: Mapping[str, Any]) -> Any:
    """What ``{{ name }}`` stands for where that needs no template; ``NOT_PLAIN`` for everything else."""
    named = NAMES_ONE.fullmatch(value) if isinstance(value, str) else None
    if named is None or named[1] not in variables:
        return NOT_PLAIN
    found = variables[named[1]]
    return found if is_plain(found) else NOT_PLAIN


def is_plain(value: object) -> bool:
    """Whether it is what it looks like: no template, at any depth, and nothing that a vault has encrypted."""
    if isinstance(value, str):
        return not any(mark in value for mark in _MARKS)
    if isinstance(value, Mapping):
        return all(is_plain(part) for pair in value.items() for part in pair)
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    return value is None or isinstance(value, (bool, int, float))
