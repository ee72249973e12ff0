# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse invalid options, each by its subject, before a node is asked for anything."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils import _site_target as report_target
from ansible_collections.gaudi3.scale.plugins.plugin_utils._cost import options as cost
from ansible_collections.gaudi3.scale.plugins.plugin_utils._firmware import options as firmware
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch import job_hosts
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule, refuse_nul
from ansible_collections.gaudi3.scale.plugins.plugin_utils._upgrade import options as upgrade

ARGUMENTS: dict[str, dict[str, Any]] = {
    "upgrade": {"type": "dict", "options": upgrade.ARGUMENTS},
    "firmware": {"type": "dict", "options": firmware.ARGUMENTS},
    "cost": {"type": "dict", "options": cost.ARGUMENTS},
    "job_hosts": {"type": "dict", "options": job_hosts.ARGUMENTS},
    "report_target": {"type": "dict", "options": report_target.ARGUMENTS},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.options_check``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Look at what is given, each subject in the order of ``ARGUMENTS``; changes nothing."""
        super().run(tmp, task_vars)
        asked = self.validate_argument_spec(argument_spec=ARGUMENTS, required_one_of=[list(ARGUMENTS)])[1]
        given = {subject: options for subject, options in asked.items() if options is not None}
        for options in given.values():
            refuse_nul(options)
        try:
            return {"changed": False, **self._checked(given, task_vars)}
        except GaudiError as error:
            return {"failed": True, "msg": str(error)}

    def _checked(self, given: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """What the checks found out, by its name in the module's RETURN; raises GaudiError for the first refusal."""
        found: dict[str, Any] = {}
        if "upgrade" in given:
            upgrade.check(given["upgrade"])
        if "firmware" in given:
            firmware.check(given["firmware"])
        if "cost" in given:
            found["cost"] = cost.check(given["cost"])
        if "job_hosts" in given:
            found["hosts"] = job_hosts.check(given["job_hosts"], task_vars)
        if "report_target" in given:
            found.update(report_target.check(given["report_target"], task_vars, self._templar, self._loader))
        return found
