# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse hosts of a job that cannot be meant."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._awx_job import slice_refusal
from ansible_collections.gaudi3.scale.plugins.plugin_utils._launch.job_hosts import JobHosts, order_refusal, refusal
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule

ARGUMENTS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "spares": {"type": "list", "elements": "str", "default": []},
    "witness": {"type": "str", "default": ""},
    "engine": {"type": "str", "default": "torchrun"},
    "option": {"type": "str", "default": "hosts"},
}


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.job_hosts``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Look at the names; changes nothing."""
        super().run(tmp, task_vars)
        job = JobHosts(**self.validate_argument_spec(argument_spec=ARGUMENTS)[1])
        inventory = task_vars["groups"]["all"]
        said = slice_refusal(task_vars) or refusal(job, inventory, task_vars["ansible_play_hosts_all"])
        said = said or order_refusal(job, inventory, {host: task_vars["hostvars"][host] for host in job.hosts})
        return {"failed": True, "msg": said} if said else {"changed": False, "hosts": list(job.hosts)}
