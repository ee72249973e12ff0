# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the nodes of a tuning study need to know of it: what is tried, which of them keeps it, and who did not work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.command_words import command_words
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._tune.study_nodes import REGISTERED, lost, tune_nodes
from ansible_collections.gaudi3.scale.plugins.plugin_utils._tune.study_plan import (
    shown_storage,
    storage_words,
    study_plan,
    study_text,
)

ARGUMENTS: dict[str, dict[str, Any]] = {
    "step": {"type": "str", "required": True, "choices": ["plan", "nodes"]},
    "study": {"type": "dict"},
    "with_text": {"type": "bool", "default": False},
    "name": {"type": "str"},
    "hosts": {"type": "list", "elements": "str"},
    "storage": {"type": "str", "default": "", "no_log": True},
    "port": {"type": "int", "default": 29510},
    "directory": {"type": "str"},
}
REQUIRED_IF = [("step", "plan", ["study"]), ("step", "nodes", ["name", "hosts", "directory"])]


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.tune_study``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Look at the values, or at what was registered for the nodes; changes nothing."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS, required_if=REQUIRED_IF)[1]
        try:
            found = _plan(options) if options["step"] == "plan" else _nodes(options, task_vars)
        except GaudiError as error:
            return {"failed": True, "msg": str(error)}
        return {"changed": False, **found}


def _plan(options: Mapping[str, Any]) -> dict[str, Any]:
    words = command_words(options["study"].get("command") or [], "gaudi_tune_command")
    study = {**options["study"], "command": words}
    text = {"text": study_text(study)} if options["with_text"] else {}
    return {**study_plan(study), **text}


def _nodes(options: Mapping[str, Any], task_vars: Mapping[str, Any]) -> dict[str, Any]:
    hostvars, storage = task_vars["hostvars"], options["storage"]
    hosts = [_known(hostvars[host]) for host in options["hosts"]]
    found = tune_nodes(hosts, task_vars["ansible_play_hosts"])
    address = next((host["ansible_host"] for host in hosts if host["inventory_hostname"] == found.keeper), "")
    return {
        "keeper": found.keeper,
        "absent": found.absent,
        "serving": "" if storage else found.keeper,
        "address": address,
        "where": shown_storage(storage, address, options["port"]),
        "access": storage_words(storage, options["directory"]),
        "refusal": "" if storage else lost(options["name"], found.lost_keeper),
    }


def _known(variables: Mapping[str, Any]) -> dict[str, Any]:
    """What is read of a node's variables, of which no other is looked at."""
    name = str(variables["inventory_hostname"])
    registered = {key: variables[key] for key in REGISTERED if key in variables}
    return {"inventory_hostname": name, "ansible_host": str(variables.get("ansible_host", name)), **registered}
