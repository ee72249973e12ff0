# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether firmware is written on the nodes whose turn has not come."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._firmware.node_outcome import stops
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule

ARGUMENTS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "outcome": {"type": "str", "required": True},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.firmware_batch``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Look at what every node has registered; changes nothing."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        outcomes = {host: task_vars["hostvars"][host].get(options["outcome"]) for host in options["hosts"]}
        states = {host: str(outcome["state"]) for host, outcome in outcomes.items() if outcome and "state" in outcome}
        return {"changed": False, "stop": stops(states, task_vars["ansible_play_batch"])}
