# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module of the same name run by run, with a line on the screen for each."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import literals
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._serving.run_line import run_line
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import show

# Loads that an operator names, one each; a search has seven.
MOST_RUNS = 1000


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.serving_measurement``."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """The module's last result."""
        super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        host = task_vars["inventory_hostname"]
        for _number in range(MOST_RUNS):
            known = len(arguments.get("runs") or [])
            result = self._execute_module(module_args=arguments, task_vars=task_vars)
            runs = result.get("runs") or []
            if result.get("failed") or len(runs) != known + 1:
                break
            show(f"{host}: {run_line(runs[-1])}")
            if result["next"] is None:
                break
            arguments["runs"] = runs
        return dict(literals(result))
