# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find which of several nodes slow down or stop the others, in few measurements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_collectives import sizes_refusal
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import literals
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.over_nodes import (
    OPTIONS,
    over_nodes,
    tolerance_refusal,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.search import search
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import failed

ARGUMENTS: dict[str, dict[str, Any]] = {**OPTIONS, "expected": {"type": "float", "default": 0.0}}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.bad_node_search``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Measure until it is known who is bad; that somebody is, is no failure of this task."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        if refusal := _refusal(options):
            return {"failed": True, "msg": refusal}
        if self._task.check_mode:
            return {"changed": False, "skipped": True, "msg": "Check mode: nothing was measured."}
        try:
            over = over_nodes(self, options, task_vars, options["group_timeout"])
            found = search(options["hosts"], options["tolerance"], options["expected"], over)
            return {"changed": False, **literals(found)}
        except AnsibleError:
            raise
        except Exception as error:
            return failed(error)


def _refusal(options: Mapping[str, Any]) -> str:
    """One sentence for options that mean nothing; else empty."""
    if said := sizes_refusal(options["sizes"]) or tolerance_refusal(options):
        return said
    if options["expected"] < 0:
        return f"expected is {options['expected']:g}; give GB/s of bus bandwidth, or 0 if unknown."
    return ""
