# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show a job on the screen until it ends; which of the two ways to watch it has, its nodes tell."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleError
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.watch import host_of_node
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import OUT_OF_SIGHT, RUNNING
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JOB_ARGUMENTS, JobPaths, paths_from
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_failure import module_failure
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_options import checked
from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import lines_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_action import NodeAction, UnreachableError, job_info
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._silent_nodes import SilentNodes
from ansible_collections.gaudi3.scale.plugins.plugin_utils._supervised_watch import SupervisedWatch
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import show
from ansible_collections.gaudi3.scale.plugins.plugin_utils._worker_group_watch import WorkerGroupWatch, followed_result

# Bytes before the end of the metrics at which the first look begins: a job that has run for days shows its last lines.
RECENT = -8192

ARGUMENTS = {
    **JOB_ARGUMENTS,
    "hosts": {"type": "list", "elements": "str", "required": True},
    "spares": {"type": "list", "elements": "str", "default": []},
    "witness": {"type": "str", "default": ""},
    "log_hosts": {"type": "list", "elements": "str", "default": []},
    "interval": {"type": "float", "default": 5.0},
    "supervised": {"type": "bool"},
    "timeout": {"type": "int"},
    "answer_timeout": {"type": "int", "default": 30},
    "unreachable_timeout": {"type": "int", "default": 1800},
    "settle_time": {"type": "int", "default": 10},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.training_job_follow``."""

    TRANSFERS_FILES = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Follow the job; fails unless it succeeds on every node, or is out of sight."""
        super().run(tmp, task_vars)
        try:
            result = self._follow(task_vars)
        except AnsibleError:
            raise
        except Exception as error:
            # Nodes say what they like, and a connection may end in any way.
            return {**followed_result(RUNNING, {}, {}), "followed": False, "failed": True, **module_failure(error)}
        return {**result, "msg": lines_of(result["msg"])} if "msg" in result else result

    def _follow(self, task_vars: dict[str, Any]) -> dict[str, Any]:
        options = checked(self.validate_argument_spec(argument_spec=ARGUMENTS)[1], ARGUMENTS)
        paths = paths_from(options)
        standing_by = [*options["spares"], *filter(None, [options["witness"]])]
        named = [*options["hosts"], *standing_by, *options["log_hosts"]]
        unknown = [host for host in named if host not in task_vars["hostvars"]]
        if unknown or not options["hosts"]:
            return {"failed": True, "msg": f"hosts: {', '.join(unknown) or 'none given'}; name hosts of the inventory."}
        if self._task.check_mode:
            return {
                **followed_result(RUNNING, {}, {}),
                "followed": False,
                "msg": "Check mode: there is no running job to follow.",
            }
        nodes = {host: NodeAction(self, host, task_vars) for host in options["hosts"]}
        spares = {host: NodeAction(self, host, task_vars) for host in standing_by}
        supervised, unseen = options["supervised"], ""
        if supervised is None:
            supervised, unseen = find_supervision(paths, options, {**nodes, **spares}, show)
        if unseen:
            return {**followed_result(OUT_OF_SIGHT, {}, {}), "followed": False, "msg": unseen}
        if supervised:
            return SupervisedWatch(paths.name, options, {**nodes, **spares}, show, RECENT).follow()
        others = {host: NodeAction(self, host, task_vars) for host in options["log_hosts"] if host not in nodes}

        def chosen(node: str) -> tuple[str, NodeAction] | None:
            known = task_vars["hostvars"]
            host = host_of_node(node, {name: str(known[name].get("ansible_host", name)) for name in known})
            return None if host is None else (host, NodeAction(self, host, task_vars))

        return WorkerGroupWatch(paths, options, nodes, show, RECENT, others, chosen).follow()


def find_supervision(
    paths: JobPaths, options: dict[str, Any], nodes: dict[str, NodeAction], say: Callable[[str], None]
) -> tuple[bool, str]:
    """Whether the job's nodes have supervisors, as the first node that has the job knows it.

    Nodes that do not answer are asked again, for ``unreachable_timeout`` seconds; then the second value says so. Where
    all answer and none has the job, there is nothing that could be ended by mistake: it counts as not supervised.
    """
    places = {key: options[key] for key in ("state_directory", "log_directory")}
    arguments = {"name": paths.name, "log_lines": 0, "metrics_after": RECENT, **places}
    silent = SilentNodes(say)
    while True:
        for host, node in nodes.items():
            try:
                info = job_info(node, arguments, options["answer_timeout"])
            except UnreachableError as reason:
                silent.missed(host, reason)
                continue
            silent.heard(host)
            if info.get("description"):
                return "supervision" in info["description"], ""
        missing = silent.among(nodes)
        if not missing:
            return False, ""
        if silent.all_of(missing, options["unreachable_timeout"]):
            return False, silent.lost_sight(paths.name, missing)
        time.sleep(options["interval"])
