# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse options of an upgrade that cannot be meant."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._upgrade.options import UpgradeOptions, node_refusal, refusal

ARGUMENTS: dict[str, dict[str, Any]] = {
    "pattern": {"type": "raw", "default": "gaudi"},
    "hosts": {"type": "list", "elements": "str", "required": True},
    "serial": {"type": "raw", "default": [1, "10%", "25%"]},
    "canary": {"type": "str", "default": ""},
    "max_fail_percentage": {"type": "raw", "default": ""},
    "drain": {"type": "str", "default": "none"},
    "layers": {"type": "list", "elements": "str", "default": []},
    "node": {"type": "str"},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.upgrade_options``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Look at the options; changes nothing."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        node = options.pop("node")
        options["pattern"] = str(options["pattern"])
        said = refusal(UpgradeOptions(**options))
        if not said and node is not None:
            said = node_refusal(node, options["hosts"])
        return {"failed": True, "msg": said} if said else {"changed": False, "hosts": options["hosts"]}
