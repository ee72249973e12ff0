# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of the module: it refuses what the role's options are not, and compares the node's clock."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.clock_rows import CONTROLLER_CLOCK, Seen, seen, span
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_action import RoleEntry

DEFAULT_LIMIT_MS = 1000.0


class ActionModule(RoleEntry):
    """See the documentation of the module ``gaudi3.scale.hpu_verify``."""

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Run the module between two looks at the controller's own clock."""
        asked = time.time()
        done = super().run(tmp, task_vars)
        answered = time.time()
        limit = _limit(self._task.args.get("clock_offset_ms"))
        times = done.get("times")
        if not limit or not isinstance(times, dict):
            return done
        found = seen(asked, times.get("began"), times.get("ended"), answered, limit)
        if found is None:
            return done
        if not found.agrees(Seen(0.0, 0.0, limit)):
            self._display.warning(
                f"{task_vars['inventory_hostname']}: clock: it is {span(found)}, and {limit:g} s are allowed; one of "
                "them is wrong: set gaudi_host_time_sync, or look at `chronyc sources` on both."
            )
        return {**done, CONTROLLER_CLOCK: asdict(found)}


def _limit(given: Any) -> float:
    """In seconds; 0 leaves the clock out."""
    try:
        return max(0.0, float(DEFAULT_LIMIT_MS if given is None else given)) / 1000
    except (TypeError, ValueError):
        # The module refuses it.
        return 0.0
