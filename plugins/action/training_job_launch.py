# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Begin a training job on all of its nodes, or on none of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleError
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.variables import variables_from
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.command_words import command_words
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.launch import (
    NOT_ITS_OWN,
    SUPERVISED,
    LaunchedJob,
    launch,
    look,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.unknown_job import stopped_line, unknown_job
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import literals
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import questions
from ansible_collections.gaudi3.scale.plugins.plugin_utils._on_nodes import differences, given
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_check import specified_here
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import failed, show

ARGUMENTS: dict[str, dict[str, Any]] = {
    "name": {"type": "str", "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
    "state": {"type": "str", "choices": ["known", "looked_at", "started"], "default": "started"},
    "engine": {"type": "str", "default": SUPERVISED},
    "supervision": {"type": "dict"},
    "options": {"type": "dict", "default": {}},
    "left_out": {"type": "dict", "default": {}},
    "answers": {"type": "dict", "default": {}},
    "answer_timeout": {"type": "int", "default": 600},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.training_job_launch``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Start the job on its nodes; fails where it was begun on none."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        own = sorted(set(options["options"]) & set(NOT_ITS_OWN))
        if own:
            return {"failed": True, "msg": f"options has {own[0]}, which the launch sets automatically; remove it."}
        try:
            words = command_words(options["options"].get("command") or [], "gaudi_training_command")
        except GaudiError as error:
            return failed(error)
        options["options"] = {**options["options"], "command": words}
        supervision = options["supervision"] if options["engine"] == SUPERVISED else None
        role = next(iter(specified_here(self)), None)
        prefix = role.prefix if role else ""
        described = given(options["options"])
        job = LaunchedJob(options["name"], options["hosts"], described, options["engine"], supervision, prefix)
        unknown = [node for node in job.voters if node not in task_vars["hostvars"]]
        if unknown or not job.hosts:
            return {"failed": True, "msg": f"hosts: {', '.join(unknown) or 'none given'}; name hosts of the inventory."}
        try:
            if options["state"] == "known":
                refusal = unknown_job(job.name, options["answers"], f"{prefix}name")
                if refusal:
                    return {"failed": True, "msg": refusal}
                show(stopped_line(job.name, options["answers"]))
                return {"changed": False}
            # Before a probe, which takes minutes: nodes are asked for the rest.
            variables_from(f"{prefix}environment", options["options"].get("environment") or {})
            return self._launched(job, options, task_vars)
        except AnsibleError:
            raise
        except Exception as error:
            # Nodes say what they like, and a connection may end in any way.
            return failed(error)

    def _launched(self, job: LaunchedJob, options: Mapping[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        hosts = [node for node in job.voters if node not in options["left_out"]]
        ask = questions(self, hosts, task_vars, options["answer_timeout"])
        if options["state"] == "looked_at":
            found = look(job, ask)
            return {"changed": False, **literals({name: found[name] for name in ("start", "left_out")})}
        check_mode = bool(self._task.check_mode)
        begun = launch(job, ask, show, left_out=options["left_out"], check_mode=check_mode)
        answers = begun["answers"]
        launches = {node: answers[node].get("launch", {}) for node in begun["start"] if node in answers}
        changed = any(bool(answer.get("changed")) for answer in answers.values())
        reported = {"start": begun["start"], "left_out": begun["left_out"], "launches": launches}
        return {"changed": changed, "diff": differences(answers), **literals(reported)}
