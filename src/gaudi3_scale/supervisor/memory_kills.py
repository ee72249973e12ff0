# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the kernel ended a process of this node's ranks for want of memory."""

from __future__ import annotations

from gaudi3_scale.core._job.failure import RankFailure
from gaudi3_scale.core._job.kernel_reason import was_killed
from gaudi3_scale.core._node.process_tree import oom_kills, oom_kills_of_node

# A rank that was killed and a kill that the node counted belong together where they are no further apart. Its agent
# has to see it, and the others to end.
NEAR_S = 60.0


class MemoryKills:
    """The job's own count of such kills, where the node keeps one, is its own; the node's counts those of others, too,
    and stands for a rank's end where SIGKILL ended it at about that time.
    """

    def __init__(self, control_group: str) -> None:
        self._control_group = control_group
        self._own = 0
        # The node's count, and when it was taken, of at least NEAR_S ago and of since then.
        self._before = self._since = (0.0, 0)

    def begin(self, now: float) -> None:
        """Ranks are started."""
        self._own = oom_kills(self._control_group)
        self._before = self._since = (now, oom_kills_of_node())

    def look(self, now: float) -> None:
        """Called while ranks run."""
        if now - self._since[0] >= NEAR_S:
            self._before, self._since = self._since, (now, oom_kills_of_node())

    def ended(self, failure: RankFailure) -> bool:
        """Whether ``failure`` is such an end."""
        if oom_kills(self._control_group) > self._own:
            return True
        return was_killed(failure) and oom_kills_of_node() > self._before[1]
