# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep on the controller which nodes it has taken out of service, and tell which are."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._quarantine.marks import (
    answers_of,
    changed_marks,
    out_of_service,
    read_marks,
    write_marks,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import failed

READ, KEPT, FORGOTTEN = "read", "kept", "forgotten"
ARGUMENTS: dict[str, dict[str, Any]] = {
    "path": {"type": "str", "required": True},
    "state": {"type": "str", "choices": [READ, KEPT, FORGOTTEN], "default": READ},
    "node": {"type": "str", "default": ""},
    "nodes": {"type": "list", "elements": "str", "default": []},
}
# What the role registers of each node.
RESULT = "gaudi_quarantine_info_result"


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.quarantine_marks``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Read, or change what is kept."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        try:
            marks = read_marks(options["path"])
            if options["state"] == READ:
                said = answers_of((task_vars or {}).get("hostvars", {}), options["nodes"], RESULT)
                return {"changed": False, "quarantined": out_of_service(marks, said, options["nodes"])}
            return self._changed(options, marks)
        except GaudiError as error:
            return failed(error)

    def _changed(self, options: dict[str, Any], marks: dict[str, str] | None) -> dict[str, Any]:
        if not options["node"]:
            raise GaudiError(f"node is empty; name the node that is {options['state']}.")
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        wanted = changed_marks(marks, options["node"], now if options["state"] == KEPT else "")
        if wanted == (marks or {}):
            return {"changed": False, "quarantined": sorted(wanted)}
        if not self._task.check_mode:
            write_marks(options["path"], wanted)
        # The list is no part of a node, whose own task tells what changed there.
        return {"changed": False, "quarantined": sorted(wanted)}
