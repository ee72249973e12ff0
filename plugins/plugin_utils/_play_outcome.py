# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""What a play tells the next job of a workflow; pure.

AWX makes variables of it, and a string of a variable is a template to Ansible. A node may say what it likes, so of its
words only names of states come through, and a brace never does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Any

OK, FAILED, UNCLEAR = "ok", "failed", "unclear"
_STATE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.,:-]{0,63}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,3})?")
# Without a brace there is no template.
_WORD = re.compile(r"[^{}\x00-\x1f\x7f]{0,1000}")


def play_outcome(
    nodes: Mapping[str, object],
    good: Collection[str],
    inventory: Collection[str],
    ok: bool | None = None,
    unclear: bool = False,
    numbers: Mapping[str, object] | None = None,
    words: Mapping[str, object] | None = None,
    check_mode: bool = False,
) -> dict[str, Any]:
    """The outcome of a play, as plain JSON.

    ``nodes`` has a node's state; those in ``good`` are well, and names that are not in ``inventory`` are left out.
    ``ok`` is the verdict where that is not simply whether there are nodes and all are well; ``unclear``: the play could
    not find out. ``numbers`` may come from a node, and what is none becomes None; ``words`` are the operator's, strings
    or lists of them.
    """
    states = {_word(host): _state(state) for host, state in nodes.items() if host in inventory and _word(host)}
    well = [host for host, state in states.items() if state in good]
    verdict = bool(states) and len(well) == len(states) if ok is None else ok
    return {
        "verdict": UNCLEAR if unclear else OK if verdict else FAILED,
        "nodes": states,
        "ok_nodes": well,
        "failed_nodes": [host for host in states if host not in well],
        **{name: _number(value) for name, value in (numbers or {}).items()},
        **{name: _words(value) for name, value in (words or {}).items()},
        "check_mode": bool(check_mode),
    }


def _state(value: object) -> str:
    return _text(value) if isinstance(value, str) and _STATE.fullmatch(value) else UNCLEAR


def _number(value: object) -> int | float | None:
    # Ansible before 2.19 makes strings of numbers.
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value) if set(value) & set(".eE") else int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return int(value) if isinstance(value, int) else float(value)


def _words(value: object) -> str | list[str]:
    return [_word(one) for one in value] if isinstance(value, (list, tuple)) else _word(value)


def _word(value: object) -> str:
    return _text(value) if isinstance(value, str) and _WORD.fullmatch(value) else ""


def _text(value: str) -> str:
    """A string of Python's own type, without what Ansible keeps with it."""
    return "".join(value)
