# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether an upgrade goes on with the nodes whose turn has not come."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._upgrade.batch import sick, stops

ARGUMENTS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "outcome": {"type": "str", "required": True},
    "canary": {"type": "str", "default": ""},
    "max_fail_percentage": {"type": "raw", "default": ""},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.upgrade_batch``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Look at what every node has registered; changes nothing."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        hosts, most = options["hosts"], str(options["max_fail_percentage"]).strip()
        outcomes = {host: task_vars["hostvars"][host].get(options["outcome"]) for host in hosts}
        states = {host: str(outcome["state"]) for host, outcome in outcomes.items() if outcome and "state" in outcome}
        stop = stops(hosts, states, options["canary"], float(most) if most else None)
        return {"changed": False, "stop": stop, "sick": sick(hosts, states)}
