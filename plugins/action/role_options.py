# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse variables that begin as a role's options do and are none of them, and values that they cannot have."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_check import (
    role_of,
    role_refusal,
    roles_here,
    system_facts,
)

ARGUMENTS = {"all_roles": {"type": "bool", "default": False}, "system": {"type": "bool", "default": False}}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.role_options``."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Look at the options of the role whose task this is, or at the names of all roles; changes nothing."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        roles = role_of(self)
        if options["all_roles"] or not roles:
            roles = roles_here()
        refused = role_refusal(self, task_vars, roles)
        if refused:
            return refused
        facts = system_facts(self, task_vars) if options["system"] else {}
        return {"changed": False, "roles": [folder.name for folder, _collection in roles], **facts}
