# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse prices that nobody can mean, before a node is asked for anything."""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._cost.platforms import before_from, platforms_from
from ansible_collections.gaudi3.scale.plugins.module_utils._cost.prices import prices_from
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import NAME
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.pdf import require_pdf

ARGUMENTS: dict[str, dict[str, Any]] = {
    "job": {"type": "str", "required": True},
    "currency": {"type": "str", "required": True},
    "node_hour": {"type": "raw"},
    "capital": {"type": "dict", "default": {}},
    "kwh": {"type": "raw"},
    "pue": {"type": "raw"},
    "overhead_watts": {"type": "raw"},
    "energy": {"type": "bool", "default": True},
    "before": {"type": "dict", "default": {}},
    "platforms": {"type": "list", "elements": "dict", "default": []},
    "pdf": {"type": "bool", "default": False},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.cost_options``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Look at the options; changes nothing."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        try:
            if not NAME.fullmatch(options["job"]):
                raise GaudiError(f"job is {options['job']!r:.80}; give the name that the job was launched with.")
            prices = prices_from(options)
            platforms_from(options["platforms"], prices.currency)
            before_from(options["before"])
            if options["pdf"]:
                require_pdf()
        except GaudiError as refused:
            # The core names its options as the role does, less the role's name.
            return {"failed": True, "msg": f"gaudi_cost_{refused}"}
        return {"changed": False, "options": {**options, "now": time.time()}}
