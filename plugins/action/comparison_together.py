# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell which comparison of all that help together remains to be made."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.comparison_kept import second_question

ARGUMENTS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "compared": {"type": "str", "default": "gaudi_compare_result"},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.comparison_together``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Read what was registered on the nodes; changes nothing."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        hostvars, compared = task_vars["hostvars"], options["compared"]
        results = {host: hostvars[host][compared] for host in options["hosts"] if compared in hostvars[host]}
        return {"changed": False, **(second_question(results) or {"base": {}, "settings": []})}
