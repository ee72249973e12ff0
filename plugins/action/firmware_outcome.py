# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How writing the firmware of a node went."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._firmware.node_outcome import (
    BEGUN,
    ended,
    failed,
    not_resumed,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule

ARGUMENTS: dict[str, dict[str, Any]] = {
    "event": {"type": "str", "required": True, "choices": ["begun", "ended", "failed", "not_resumed"]},
    "result": {"type": "dict", "default": {}},
    "failure": {"type": "dict", "default": {}},
    "so_far": {"type": "dict", "default": {}},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.firmware_outcome``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Decide; changes nothing."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        return {"changed": False, **_outcome(options, self._task.check_mode)}


def _outcome(options: dict[str, Any], check_mode: bool) -> dict[str, str]:
    if options["event"] == "begun":
        return BEGUN
    if options["event"] == "ended":
        return ended(options["result"], check_mode)
    if options["event"] == "not_resumed":
        return not_resumed(options["failure"])
    return failed(options["failure"], options["result"], options["so_far"])
