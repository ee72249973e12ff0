# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How busy a host's processors, memory and disks are, over a moment (proc(5))."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._node.rendered_files import read_text

# Long enough for a share, short enough for 512 nodes.
SECONDS = 0.5
_IDLE, _WAITING = 3, 4


def look(root: str, sleep: Callable[[float], None] = time.sleep) -> dict[str, Any]:
    """``cpu_busy``, ``io_wait`` and ``memory_used`` from 0 to 1, each None where the kernel does not tell.

    What waits for a disk is idle and not busy.
    """
    before = _times(root)
    sleep(SECONDS)
    after = _times(root)
    passed = [new - old for old, new in zip(before, after)]
    total = sum(passed)
    known = total > 0 and len(passed) > _WAITING
    idle = passed[_IDLE] + passed[_WAITING] if known else 0
    return {
        "cpu_busy": round(1 - idle / total, 4) if known else None,
        "io_wait": round(passed[_WAITING] / total, 4) if known else None,
        "memory_used": _memory(root),
    }


def _times(root: str) -> list[int]:
    """user, nice, system, idle, iowait, irq, softirq, steal: guests are in user already."""
    line = (read_text(str(Path(root, "proc/stat"))) or "").partition("\n")[0]
    return [int(word) for word in line.split()[1:9] if word.isdecimal()]


def _memory(root: str) -> float | None:
    text = read_text(str(Path(root, "proc/meminfo"))) or ""
    found = {name: int(number) for name, number in re.findall(r"^(\w+):\s+(\d+)", text, re.MULTILINE)}
    if not found.get("MemTotal") or "MemAvailable" not in found:
        return None
    return round(1 - found["MemAvailable"] / found["MemTotal"], 4)
