# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse a place that cannot take a play's reports, before the play begins."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report_place import file_place, place
from ansible_collections.gaudi3.scale.plugins.plugin_utils._site_target import site_target

FILE = {"path": {"type": "str", "required": True}, "option": {"type": "str", "required": True}}
ARGUMENTS = {
    "target": {"type": "str"},
    "writes": {"type": "list", "elements": "dict", "default": [], "options": FILE},
    "reads": {"type": "dict", "options": FILE},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.report_target``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Look at each place, and read what is to be read; changes nothing."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        try:
            given = options["target"]
            target = place(site_target(task_vars, self._templar, self._loader) if given is None else given)
            target.refuse_unusable()
            for file in options["writes"]:
                place(file_place(file["path"], "")[0], file["option"]).refuse_unusable()
            text = "" if options["reads"] is None else _read(**options["reads"])
        except GaudiError as error:
            return {"failed": True, "msg": str(error)}
        return {"changed": False, "target": target.address("").rstrip("/"), "text": text}


def _read(path: str, option: str) -> str:
    folder, name = file_place(path, "")
    return place(folder, option).read(name)
