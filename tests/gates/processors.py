# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What this machine's processors did meanwhile: says whether a longer suite has more to do, or a slower machine."""

from __future__ import annotations

from pathlib import Path

# The first line of /proc/stat (proc_stat(5)): user, nice, system, idle, iowait, irq, softirq, steal.
STAT = Path("/proc/stat")
IDLE, IOWAIT, STEAL = 3, 4, 7


def jiffies() -> list[int]:
    """What the processors have spent since the machine's start, by kind; the unit is the kernel's tick."""
    return [int(word) for word in STAT.read_text(encoding="ascii").splitlines()[0].split()[1:9]]


def spent_since(before: list[int]) -> str:
    """``processors 93 % busy, 2 % waiting for disks, 0 % taken by others`` since ``before``."""
    spent = [now - then for now, then in zip(jiffies(), before)]
    total = max(1, sum(spent))
    busy = total - spent[IDLE] - spent[IOWAIT] - spent[STEAL]
    share = [f"{100 * part / total:.0f} %" for part in (busy, spent[IOWAIT], spent[STEAL])]
    return "processors {} busy, {} waiting for disks, {} taken by others".format(*share)
