# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of the module: it shows the warm-up, which takes from a minute to an hour, until all answer."""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_action import RoleStep
from ansible_collections.gaudi3.scale.plugins.plugin_utils._serving.progress import Progress, joined, waits
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import show

TIMEOUT_S = 7200


class ActionModule(RoleStep):
    """See the documentation of the module ``gaudi3.scale.model_serving``."""

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Run the module until each instance answers; its first call makes the changes, the others only look."""
        host = task_vars["inventory_hostname"]
        begun = time.monotonic()
        progress = Progress()
        first: dict[str, Any] = super().run(tmp, task_vars)
        result = first
        while not self._task.check_mode and waits(result):
            for line in progress.lines(host, result["instances"], time.monotonic()):
                show(line)
            if time.monotonic() - begun > _seconds(self._task.args.get("ready_timeout")):
                return joined(first, {**result, "failed": True, "msg": progress.too_late(result["instances"])})
            result = super().run(tmp, task_vars)
        return joined(first, result)


def _seconds(given: Any) -> float:
    try:
        return float(TIMEOUT_S if given is None else given)
    except (TypeError, ValueError):
        # The module refuses it.
        return 0.0
