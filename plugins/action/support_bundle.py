# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of the module: the archive goes where the reports go, and into no result."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import keep
from ansible_collections.gaudi3.scale.plugins.plugin_utils._site_target import site_target
from ansible_collections.gaudi3.scale.plugins.plugin_utils._support.brought_archive import archive_document
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import failed

MODULE = "gaudi3.scale.support_bundle"


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.support_bundle``."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Run the module, and store what it has collected."""
        super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        target = arguments.get("target") or site_target(task_vars, self._templar, self._loader)
        done = self._execute_module(MODULE, arguments, task_vars=task_vars)
        # Of a failure, too: what failed may have said more than it meant to.
        archive = done.pop("archive", "")
        if done.get("failed") or done.get("unreachable") or not archive:
            return done
        host = str((task_vars or {}).get("inventory_hostname", "node"))
        try:
            document, size = archive_document(host, archive)
            kept = keep(str(target or ""), [document])
        except GaudiError as error:
            return failed(error)
        if not kept.addresses:
            return {"failed": True, "changed": False, "msg": kept.error}
        return {**done, "file": kept.addresses[0], "size": size, "error": kept.error}
