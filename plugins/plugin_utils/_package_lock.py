# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Waiting for a node's package manager where people see it: on the controller, with a line on the screen.

A module can say nothing before its end. One that finds the package manager at work ends in a moment with
``lock_holder``, before it has changed anything, and is run again until ``lock_timeout`` is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import one_line
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import show

# The modules' own default.
_DEFAULT_S = 300.0
_PAUSE_S = 5.0
# A line at once, and then so often.
_SHOWN_S = 30.0


def seconds(given: Any) -> float:
    """The option ``lock_timeout`` as a task has it; what is no number is the module's to refuse."""
    try:
        return float(_DEFAULT_S if given is None else given)
    except (TypeError, ValueError):
        return 0.0


def when_free(
    host: str,
    limit: float,
    execute: Callable[[], Mapping[str, Any]],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    say: Callable[[str], None] = show,
) -> dict[str, Any]:
    """What ``execute``, the module, answers once the package manager is free, or when ``limit`` seconds are over."""
    began, shown = clock(), float("-inf")
    while True:
        done = dict(execute())
        held = done.get("lock_holder") if done.get("failed") else None
        waited = clock() - began
        if not held:
            return done
        if waited >= limit:
            # ansible-core 2.19 and newer show the words of the exception, where there is one, and not those of msg.
            done.pop("exception", None)
            return {**done, "msg": f"{done.get('msg', '')} The run waited for this node {waited:.0f} s."}
        if clock() - shown >= _SHOWN_S:
            say(f"{host}: {_who(held)} is using the node's package manager; waiting, {waited:.0f} of {limit:.0f} s")
            shown = clock()
        sleep(min(_PAUSE_S, max(0.0, limit - waited)))


def _who(held: Any) -> str:
    """What a node says is text, whatever it says."""
    known = held if isinstance(held, Mapping) else {}
    program, pid = (one_line(str(known.get(name) or "unknown"))[:80] for name in ("program", "pid"))
    return f"{program} (process {pid})"
