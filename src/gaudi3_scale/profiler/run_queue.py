# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How long this thread waited for a processor: what other processes take from a rank is not the rank's own slowness."""

from __future__ import annotations

from pathlib import Path

_SCHEDSTAT = Path("/proc/thread-self/schedstat")


def queued_seconds() -> float:
    """Since the thread began; 0 where the kernel does not tell (CONFIG_SCHED_INFO).

    The second of its numbers: nanoseconds on a run queue (Documentation/scheduler/sched-stats.rst of Linux).
    """
    try:
        return int(_SCHEDSTAT.read_bytes().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0
