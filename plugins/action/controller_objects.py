# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the objects of a controller: templates with their surveys, workflows, schedules, and what they need."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.loader import module_loader
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.rendered_files import (
    WantedFile,
    differences,
    pending,
    write,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.data_file import data_file
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.making import FOLLOWS, SAME, make
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.objects import (
    EVENTS,
    Objects,
    controller_objects,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.playbooks import read_playbooks
from ansible_collections.gaudi3.scale.plugins.plugin_utils._controller.site import Site
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import failed, show

ROOT = Path(__file__).parents[2]
SITE: dict[str, dict[str, Any]] = {
    "organization": {"type": "str", "default": "Default"},
    "prefix": {"type": "str", "default": "Gaudi: "},
    "project": {"type": "str", "default": "gaudi3.scale"},
    "scm_url": {"type": "str", "required": True},
    "scm_branch": {"type": "str", "default": ""},
    "scm_credential": {"type": "str", "default": ""},
    "inventory": {"type": "str", "default": "Gaudi"},
    "inventory_source": {"type": "dict", "default": {}},
    "execution_environment": {"type": "str", "default": "gaudi3.scale"},
    "execution_environment_image": {"type": "str", "default": ""},
    "credentials": {"type": "list", "elements": "str", "default": []},
    "variables": {"type": "dict", "default": {}},
    "forks": {"type": "int", "default": 50},
    "canary": {"type": "str", "default": "gaudi[0]"},
    "approval_timeout": {"type": "int", "default": 0},
    "schedules": {"type": "dict", "default": {}},
    "notifications": {"type": "list", "elements": "dict", "default": [], "no_log": True},
    "notify_on": {"type": "list", "elements": "str", "choices": list(EVENTS), "default": ["error"]},
    "survey_defaults": {"type": "dict", "default": {}},
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    **SITE,
    "collection": {"type": "str", "choices": ["awx.awx", "ansible.controller"], "default": "awx.awx"},
    "host": {"type": "str", "default": ""},
    "token": {"type": "str", "default": "", "no_log": True},
    "username": {"type": "str", "default": ""},
    "password": {"type": "str", "default": "", "no_log": True},
    "validate_certs": {"type": "bool", "default": True},
    "request_timeout": {"type": "float", "default": 10.0},
    "data_file": {"type": "str", "default": ""},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.controller_objects``."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Write the data, and make what it says on the controller where one is named."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        try:
            objects = controller_objects(Site(**{name: options[name] for name in SITE}), read_playbooks(ROOT))
            if not options["host"] and not options["data_file"]:
                raise GaudiError(
                    "gaudi_controller_host and gaudi_controller_data_file are both empty; name the controller, as in "
                    "https://awx.example.org, or a file for its objects."
                )
            result = self._write_data(options["data_file"], objects)
            return self._make(options, objects, task_vars, result) if options["host"] else result
        except AnsibleError:
            raise
        except Exception as error:
            return failed(error)

    def _write_data(self, path: str, objects: Objects) -> dict[str, Any]:
        result: dict[str, Any] = {"changed": False, "steps": [], "diff": []}
        if not path:
            return result
        # For this account alone: what a notification needs may be a secret, which a difference is not to show.
        changes = pending([WantedFile(str(Path(path).expanduser().absolute()), data_file(objects), 0o600, backup=True)])
        for change in changes if not self._task.check_mode else []:
            write(change)
        shown = [] if "controller_notifications" in objects else differences(changes)
        return {**result, "changed": bool(changes), "diff": shown}

    def _make(
        self, options: Mapping[str, Any], objects: Objects, task_vars: dict[str, Any], result: dict[str, Any]
    ) -> dict[str, Any]:
        connection = _connection(options)
        collection = options["collection"]
        _refuse_absent(collection)

        # Here by the Python of Ansible itself: of several on a machine, discovery may choose one that does not start.
        here = {"ansible_python_interpreter": sys.executable} if self._connection.transport == "local" else {}

        def call(module: str, entry: Mapping[str, Any]) -> Mapping[str, Any]:
            answer: Mapping[str, Any] = self._execute_module(
                module_name=f"{collection}.{module}",
                module_args={**entry, **connection},
                task_vars={**task_vars, **here},
            )
            return answer

        steps = []
        for step in make(objects, call, options["host"], self._task.check_mode):
            steps.append({"kind": step.kind, "name": step.name, "state": step.state})
            if step.state != SAME:
                show(f"{step.kind} {step.name}: {_told(step.state, self._task.check_mode)}")
        changed = [step for step in steps if step["state"] != SAME]
        return {**result, "changed": result["changed"] or bool(changed), "steps": steps}


def _told(state: str, check_mode: bool) -> str:
    if state == FOLLOWS:
        return "would be created after the objects it refers to"
    return f"would be {state}" if check_mode else state


def _connection(options: Mapping[str, Any]) -> dict[str, Any]:
    connection = {
        "controller_host": options["host"],
        "validate_certs": options["validate_certs"],
        "request_timeout": options["request_timeout"],
    }
    if options["token"]:
        return {**connection, "controller_oauthtoken": options["token"]}
    if options["username"] and options["password"]:
        return {
            **connection,
            "controller_username": options["username"],
            "controller_password": options["password"],
        }
    raise GaudiError(
        "gaudi_controller_token is empty, and gaudi_controller_username or gaudi_controller_password is too; set a "
        "controller token, for example in the environment variable CONTROLLER_OAUTH_TOKEN."
    )


def _refuse_absent(collection: str) -> None:
    if not module_loader.find_plugin_with_context(f"{collection}.job_template").resolved:
        raise GaudiError(
            f"The collection {collection} is not installed on the control node; install it with ansible-galaxy "
            f"collection install {collection}, or choose the other one in gaudi_controller_collection."
        )
