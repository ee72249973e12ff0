# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse a tuning study that cannot be meant, and tell what its nodes need to know of it."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.command_words import command_words
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._tune.study_plan import study_plan, study_text

ARGUMENTS: dict[str, dict[str, Any]] = {
    "study": {"type": "dict", "required": True},
    "with_text": {"type": "bool", "default": False},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.tune_plan``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Look at the values; changes nothing."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        try:
            words = command_words(options["study"].get("command") or [], "gaudi_tune_command")
            study = {**options["study"], "command": words}
            text = {"text": study_text(study)} if options["with_text"] else {}
            return {"changed": False, **study_plan(study), **text}
        except GaudiError as error:
            return {"failed": True, "msg": str(error)}
