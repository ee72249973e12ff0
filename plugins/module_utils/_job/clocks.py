# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether the clocks of a job's nodes agree."""

from __future__ import annotations

import time

MINUTE = 60.0


def clock_ahead(controller_time: float | None) -> float | None:
    """Seconds by which this node's clock is ahead of the controller's, which was asked just before; None without it."""
    return None if controller_time is None else time.time() - controller_time


def clocks_apart(offsets: dict[str, float], most: float = MINUTE) -> str:
    """One sentence where the nodes' clocks are further apart than ``most`` seconds; empty where they agree.

    ``offsets`` are seconds against one clock, each taken when that node was asked. Ranks compare times of files and
    certificates, and logs of a failure are sorted by time.
    """
    if not offsets:
        return ""
    middle = sorted(offsets.values())[len(offsets) // 2]
    host = max(offsets, key=lambda name: abs(offsets[name] - middle))
    apart = offsets[host] - middle
    if abs(apart) <= most:
        return ""
    side = "ahead of" if apart > 0 else "behind"
    return (
        f"The clock of {host} is {abs(apart) / MINUTE:.1f} minutes {side} those of the other nodes; let chrony or "
        "systemd-timesyncd set it before the job starts."
    )
