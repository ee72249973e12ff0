# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of the module: it has what all nodes have said of their instances."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_action import RoleStep
from ansible_collections.gaudi3.scale.plugins.plugin_utils._serving.proxied import proxied

REGISTERED = "__gaudi_serving_admission"


class ActionModule(RoleStep):
    """See the documentation of the module ``gaudi3.scale.serving_proxy``."""

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Read the instances of ``nodes``, and run the module."""
        nodes = self._task.args.get("nodes")
        if isinstance(nodes, (list, tuple)):
            rows, silent = proxied([str(node) for node in nodes], REGISTERED, task_vars["hostvars"])
            given = {name: value for name, value in self._task.args.items() if name != "nodes"}
            self._task.args = {**given, "instances": rows, "keep_nodes": silent}
        done: dict[str, Any] = super().run(tmp, task_vars)
        return done
