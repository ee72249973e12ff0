# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A node's clock: which service sets it, whether it is synchronized, and how far it is from its servers' time."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .._host.time_service import running_service
from .._node.check import Check
from .._node.commands import Run

# All of them answer from memory; a service that hangs is no reason to wait longer.
_TIMEOUT_S = 10
_SPAN_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4, "h": 3.6e6, "d": 8.64e7}


@dataclass(frozen=True)
class Clock:
    """``service`` is the unit that sets it; None is unknown. ``offset_ms`` is its distance, without a sign."""

    service: str | None = None
    synchronized: bool | None = None
    offset_ms: float | None = None


def read_clock(run: Run) -> Clock:
    """Ask the service that runs, and systemd where there is none that can be asked."""
    service = running_service(run)
    if service in ("chrony.service", "chronyd.service"):
        return parse_chrony(service, run(["chronyc", "-c", "-n", "tracking"], timeout=_TIMEOUT_S).stdout)
    shown = run(["timedatectl", "show", "--property", "NTPSynchronized", "--value"], timeout=_TIMEOUT_S).stdout.strip()
    synchronized = {"yes": True, "no": False}.get(shown)
    if service == "systemd-timesyncd.service":
        status = run(["timedatectl", "timesync-status"], timeout=_TIMEOUT_S).stdout
        return Clock(service, synchronized, parse_timesyncd(status))
    return Clock(service, synchronized)


def parse_chrony(service: str, text: str) -> Clock:
    """``chronyc -c tracking``: fields by comma, the fifth the seconds to go, the last the leap status (chronyc(1))."""
    fields = text.strip().split(",")
    # Before it has chosen a source, its reference is 00000000 and the leap status says so, too.
    if len(fields) < 14 or fields[-1] == "Not synchronised":
        return Clock(service, False if len(fields) >= 14 else None)
    try:
        return Clock(service, True, abs(float(fields[4])) * 1e3)
    except ValueError:
        return Clock(service, True)


def parse_timesyncd(text: str) -> float | None:
    """The offset in ``timedatectl timesync-status``, a span such as ``-1min 2.5s`` (systemd's timedatectl.c)."""
    line = re.search(r"^\s*Offset: [+-]?(.+)$", text, re.MULTILINE)
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)(us|ms|s|min|h|d)\b", line[1]) if line else []
    return sum(float(number) * _SPAN_MS[unit] for number, unit in parts) if parts else None


def clock_checks(clock: Clock, limit_ms: int) -> list[Check]:
    """Whether it is set by anybody, which is advice, and whether it is far off, which is not. Unknown is no failure."""
    by = clock.service or "no time service"
    set_one = "set gaudi_host_time_sync, or check the servers of the running service (`chronyc sources`)"
    off = "unknown" if clock.offset_ms is None else f"{clock.offset_ms:.3f} ms ({by})"
    return [
        Check(
            "clock", clock.synchronized is not False, "synchronized", f"not synchronized ({by})", set_one, advice=True
        )
        if clock.synchronized is not True
        else Check("clock", True, "synchronized", f"synchronized by {by}", set_one),
        Check(
            "clock offset",
            clock.offset_ms is None or clock.offset_ms <= limit_ms,
            f"at most {limit_ms} ms",
            off,
            "let the service step the clock (`chronyc makestep`) and see which server it follows",
        ),
    ]
