# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Priority flow control of the cards' ports, by the vendor's tool alone.

What it prints is that of lldptool for each port, as the script did when it was published; a newer one that prints
something else is refused and not guessed (UNVERIFIED on a card).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..._errors import GaudiError
from ..._host.kernel.values import value_difference
from ..._node.commands import Run, last_line
from ..._node.screen_text import one_line

# What --set-pfc sets; it knows no others.
PRIORITIES = (0, 1, 2, 3)
_TIMEOUT_S = 300.0
_PORT = re.compile(r"check_pfc '([^']{1,15})'")
_ENABLED = re.compile(r"\s*enabled=\s*(none|[0-7](?:,[0-7])*)?\s*")


def check_priorities(priorities: Sequence[int]) -> None:
    """Refuse what the vendor's tool cannot set; an empty list leaves all as it is."""
    if priorities and tuple(sorted(set(priorities))) != PRIORITIES:
        shown = ", ".join(map(str, priorities))
        raise GaudiError(
            f"gaudi_fabric_pfc_priorities is [{shown}]; the vendor's tool sets 0, 1, 2 and 3 together: give these, or "
            "an empty list to leave flow control alone."
        )


def parse(text: str) -> dict[str, tuple[int, ...]]:
    """Interface -> the priorities that are on. Raises ValueError where a port has no such line."""
    found: dict[str, tuple[int, ...]] = {}
    port = ""
    for line in text.splitlines():
        named, enabled = _PORT.fullmatch(line.strip()), _ENABLED.fullmatch(line)
        if named:
            if port:
                raise ValueError(f"nothing for {port}")
            port = named[1]
        elif enabled and port:
            on = enabled[1] or ""
            found[port] = tuple(int(one) for one in on.split(",")) if on[:1].isdecimal() else ()
            port = ""
    if port or not found:
        raise ValueError(f"nothing for {port}" if port else "no port")
    return found


def converge(tool: str, priorities: Sequence[int], run: Run, check_mode: bool) -> list[dict[str, str]]:
    """Switch flow control on where the tool says that it is off; returns Ansible's ``diff``."""
    if not priorities:
        return []
    off = _off(tool, run)
    if off and not check_mode:
        _call(tool, "--set-pfc", run)
        left = _off(tool, run)
        if left:
            raise GaudiError(f"{tool} --set-pfc left {', '.join(left)} without; check `systemctl status lldpad`.")
    after = ",".join(map(str, PRIORITIES))
    return [value_difference(f"PFC of {port}", ",".join(map(str, on)) or "none", after) for port, on in off.items()]


def _off(tool: str, run: Run) -> dict[str, tuple[int, ...]]:
    said = _call(tool, "--check-pfc", run)
    try:
        return {port: on for port, on in parse(said).items() if on != PRIORITIES}
    except ValueError as error:
        raise GaudiError(
            f"{tool} --check-pfc says {error}; set gaudi_fabric_pfc_priorities: [] and switch flow control on yourself."
        ) from None


def _call(tool: str, operation: str, run: Run) -> str:
    done = run([tool, operation], timeout=_TIMEOUT_S)
    if done.rc != 0:
        why = one_line(last_line(done.stderr or done.stdout), 200)
        raise GaudiError(f"{tool} {operation} failed: {why}; check `systemctl status lldpad`.")
    return done.stdout
