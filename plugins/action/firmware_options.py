# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse options of writing firmware that cannot be meant."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._firmware.options import FirmwareOptions, refusal
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule

ARGUMENTS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "accept": {"type": "raw", "required": True},
    "canary": {"type": "str", "default": ""},
    "drain": {"type": "str", "default": "none"},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.firmware_options``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Look at the options; changes nothing."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        said = refusal(FirmwareOptions(**options))
        return {"failed": True, "msg": said} if said else {"changed": False, "hosts": options["hosts"]}
