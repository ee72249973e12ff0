# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module of the same name run by run, with a line on the screen for each."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import literals, taken
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._serving.measured import ANSWER, MOST_RUNS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._serving.run_line import run_line
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import show

MODULE = "gaudi3.scale.serving_measurement"


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.serving_measurement``."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """The module's last result."""
        super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        host = task_vars["inventory_hostname"]
        result: dict[str, Any] = {}
        for _number in range(MOST_RUNS):
            known = len(arguments.get("runs") or [])
            result = self._execute_module(module_args=arguments, task_vars=task_vars)
            if result.get("failed"):
                break
            try:
                answer = taken(host, MODULE, ANSWER, result)
            except GaudiError as error:
                return {"failed": True, "changed": False, "msg": str(error)}
            # None was made in check mode, and where all were known.
            if len(answer["runs"]) <= known:
                break
            show(f"{host}: {run_line(answer['runs'][-1])}")
            if answer["next"] is None:
                break
            arguments["runs"] = answer["runs"]
        return dict(literals(result))
