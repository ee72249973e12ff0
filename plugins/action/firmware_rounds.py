# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts in the order in which the firmware of their cards is written."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._firmware.rounds import firmware_rounds, with_work
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule

ARGUMENTS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "shown": {"type": "str", "required": True},
    "canary": {"type": "str", "default": ""},
}
# A pattern of Ansible that no host matches.
NOBODY = ["!all"]


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.firmware_rounds``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Look at what every node has registered; changes nothing."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        hostvars = task_vars["hostvars"]
        shown = {host: hostvars[host].get(options["shown"]) or {} for host in options["hosts"]}
        rounds = firmware_rounds(with_work(options["hosts"], shown), hostvars, options["canary"])
        return {
            "changed": False,
            "rounds": rounds,
            "hosts": [host for names in rounds for host in names] or NOBODY,
            "sizes": [len(names) for names in rounds] or [1],
        }
