# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Which nodes of a job do not answer, since when, and when a play that follows the job has lost sight of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.metrics import duration

# Seconds between two lines on a node that stays silent.
REMINDER_S = 60.0


class SilentNodes:
    """``show`` writes a line for people.

    A node is silent from the first question that it did not answer, not from its last answer: a play that was itself
    stopped or starved for an hour has not missed anybody.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._since: dict[str, float] = {}
        self._reminded: dict[str, float] = {}
        self._reasons: dict[str, str] = {}

    def missed(self, host: str, reason: object) -> None:
        """``host`` did not answer; shown at the first time, and once a minute from then on."""
        now = time.monotonic()
        self._reasons[host] = str(reason)
        if host not in self._since:
            self._since[host] = self._reminded[host] = now
            self._show(f"{host} does not answer: {reason}")
        elif now - self._reminded[host] >= REMINDER_S:
            self._reminded[host] = now
            self._show(f"{host} has not responded for {duration(self.seconds(host))}: {reason}")

    def heard(self, host: str) -> None:
        """``host`` answered."""
        if host in self._since:
            self._show(f"{host} responds again, after {duration(self.seconds(host))}.")
            del self._since[host]

    def seconds(self, host: str) -> float:
        """For how long ``host`` has been silent; 0 for one that answered the last question."""
        return time.monotonic() - self._since[host] if host in self._since else 0.0

    def among(self, hosts: Collection[str]) -> list[str]:
        """Those of ``hosts`` that did not answer the last question."""
        return [host for host in hosts if host in self._since]

    def all_of(self, hosts: Collection[str], limit: float) -> bool:
        """Whether each of ``hosts``, if any, has been silent for more than ``limit`` seconds."""
        return bool(hosts) and all(self.seconds(host) > limit for host in hosts)

    def lost_sight(self, job: str, hosts: Collection[str]) -> str:
        """What to say of a job when none of ``hosts`` has answered for too long."""
        silence = duration(min(self.seconds(host) for host in hosts))
        reasons = "; ".join(f"{host}: {self._reasons[host]}" for host in list(hosts)[:3])
        more = f"; and {len(hosts) - 3} more" if len(hosts) > 3 else ""
        return (
            f"Lost contact with job {job}: none of its nodes has responded for {silence} ({reasons}{more}). The "
            "job was "
            "left running. When the nodes respond again, run launch_training.yml with the same name to "
            "follow it, or show_training.yml to see how it ended."
        )
