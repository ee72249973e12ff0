# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the probe's answer in a file of variables on the controller."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.rendered_files import (
    WantedFile,
    differences,
    pending,
    read_text,
    write,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._batch.variables_block import refusal, with_block
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule

ARGUMENTS: dict[str, dict[str, Any]] = {
    "path": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["checked", "present"], "default": "present"},
    "heading": {"type": "str", "default": ""},
    "batch_size": {"type": "int"},
    "accumulation_steps": {"type": "int"},
    "learning_rate": {"type": "float"},
}
VARIABLES = ("batch_size", "accumulation_steps", "learning_rate")


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.batch_size_variables``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Look at the file, and write the block."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        # Where ansible-playbook was started, as the shell has it: a link in the way stays in it.
        path = str(Path(os.environ.get("PWD", "."), Path(options["path"]).expanduser()))
        try:
            text = read_text(path) or ""
            said = refusal(options["path"], path, text)
            if said:
                return {"failed": True, "msg": said}
            if options["state"] == "checked":
                return {"changed": False, "path": path}
            values = {f"gaudi_training_{name}": options[name] for name in VARIABLES if options[name]}
            changes = pending([WantedFile(path, with_block(text, options["heading"], values))])
            if not self._task.check_mode:
                for change in changes:
                    write(change)
        except GaudiError as error:
            return {"failed": True, "msg": str(error)}
        return {"changed": bool(changes), "path": path, "diff": differences(changes)}
