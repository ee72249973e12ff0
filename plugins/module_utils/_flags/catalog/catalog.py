# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Every environment flag of the Gaudi software that is known, and how to find one by its name.

Nobody publishes a complete list, and every reader ignores names it does not know. The catalog rests on the sources in
``flag_types.SOURCES``; ``verified_through`` of a flag says how far they reach.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping

from .bridge import BRIDGE_FLAGS
from .flag_types import Flag
from .memory import MEMORY_FLAGS
from .names import NAMED_FLAGS
from .network import NETWORK_FLAGS
from .others import program_of
from .rejected import find_rejected
from .system import SYSTEM_FLAGS
from .vllm import VLLM_FLAGS

CURATED_FLAGS: tuple[Flag, ...] = (*BRIDGE_FLAGS, *MEMORY_FLAGS, *NETWORK_FLAGS, *SYSTEM_FLAGS, *VLLM_FLAGS)

_FAMILIES = tuple(flag for flag in CURATED_FLAGS if flag.pattern)
# What is known by name only comes first, so that a curated entry of the same name wins.
FLAGS: Mapping[str, Flag] = {flag.name: flag for flag in (*NAMED_FLAGS, *CURATED_FLAGS) if not flag.pattern}
_BY_ALIAS: Mapping[str, Flag] = {alias: flag for flag in CURATED_FLAGS for alias in flag.aliases}


def find_flag(name: str) -> Flag | None:
    """The flag of this name, alias or family of names; None where nothing reads it."""
    flag = FLAGS.get(name) or _BY_ALIAS.get(name)
    return flag or next((family for family in _FAMILIES if re.fullmatch(family.pattern, name)), None)


def other_program(name: str) -> str:
    """Whose variable this is where it is not the Gaudi software's; empty for a flag, a rejected and an unknown name."""
    return "" if find_flag(name) or find_rejected(name) else program_of(name)


def nearest_names(name: str, count: int = 3, more: Collection[str] = ()) -> list[str]:
    """Real names that look like ``name``, the most alike first; empty where none does, and for another program's name.

    ``more`` are real, too.
    """
    if other_program(name):
        return []
    wanted = name.upper().replace("-", "_")
    return difflib.get_close_matches(wanted, list(dict.fromkeys((*FLAGS, *_BY_ALIAS, *more))), n=count, cutoff=0.75)
