# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the figures of a qualification as the site's own."""

from __future__ import annotations

import json
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._kept_document import read_document
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.baseline import baseline_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.baseline_file import NAME, read_baseline
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import Document, file_place, place
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import failed, show

ARGUMENTS: dict[str, dict[str, Any]] = {
    "report": {"type": "str", "required": True},
    "path": {"type": "str", "required": True},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.qualification_baseline``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Read the report, write the baseline."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        try:
            return self._kept(options["report"], options["path"])
        except GaudiError as error:
            return failed(error)

    def _kept(self, report: str, path: str) -> dict[str, Any]:
        wanted = baseline_of(read_document(report, "report", "qualify_nodes.json"), report)
        before = read_baseline(path)
        if before == wanted:
            return self._result(wanted, [], changed=False)
        dropped = sorted({*before["nodes"]} - {*wanted["nodes"]}) if before else []
        where, name = file_place(path, NAME)
        if not self._task.check_mode:
            place(where, "path").write(Document(name, json.dumps(wanted, indent=1, sort_keys=True) + "\n"))
            show(f"{len(wanted['figures'])} figures of {len(wanted['nodes'])} nodes are the baseline: {path}")
        if dropped:
            show(f"Removed from it: {', '.join(dropped)}.")
        return self._result(wanted, dropped, changed=True)

    @staticmethod
    def _result(wanted: dict[str, Any], dropped: list[str], *, changed: bool) -> dict[str, Any]:
        return {"changed": changed, "figures": len(wanted["figures"]), "nodes": wanted["nodes"], "dropped": dropped}
