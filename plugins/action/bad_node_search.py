# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find which of several nodes slow down or stop the others, in few measurements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_collectives import Collectives
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_jobs import Ranks
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import literals
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import questions
from ansible_collections.gaudi3.scale.plugins.plugin_utils._on_nodes import given
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualification.network import Over
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualification.search import search
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import failed, show

ARGUMENTS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "expected": {"type": "float", "default": 0.0},
    "tolerance": {"type": "float", "default": 0.15},
    "sizes": {"type": "list", "elements": "int", "default": [1 << 20, 1 << 28]},
    "seconds": {"type": "float", "default": 1.0},
    "group_timeout": {"type": "int", "default": 120},
    "device": {"type": "str", "default": "hpu"},
    "processes_per_node": {"type": "int", "default": 8},
    "rendezvous_port": {"type": "int", "default": 29540},
    "job": {"type": "dict", "default": {}},
}
# What a node needs beside the ranks' own time: ssh, a start, a stop.
ANSWER_SECONDS = 120


class ActionModule(ActionBase):
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
            return {"changed": False, **literals(self._searched(options, task_vars))}
        except AnsibleError:
            raise
        except Exception as error:
            return failed(error)

    def _searched(self, options: Mapping[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        hosts, hostvars = options["hosts"], task_vars["hostvars"]
        chosen = {name: options[name] for name in ("device", "processes_per_node", "rendezvous_port")}
        ranks = Ranks(**chosen, timeout=options["group_timeout"], job=given(options["job"]))
        addresses = {host: str(hostvars[host].get("ansible_host", host)) for host in hosts}
        ask = questions(self, hosts, task_vars, options["group_timeout"] + ANSWER_SECONDS)
        over = Over(Collectives(options["sizes"], ranks, seconds=options["seconds"]), addresses, {}, ask, show)
        return search(hosts, options["tolerance"], options["expected"], over)


def _refusal(options: Mapping[str, Any]) -> str:
    """One sentence for options that mean nothing; else empty."""
    sizes = options["sizes"]
    if not sizes or min(sizes) < 4 or sizes != sorted(set(sizes)):
        return f"sizes is {sizes}; give bytes, ascending, each at least 4."
    if not 0 < options["tolerance"] < 1:
        return f"tolerance is {options['tolerance']:g}; give a part between 0 and 1, such as 0.15."
    if options["expected"] < 0:
        return f"expected is {options['expected']:g}; give GB/s of bus bandwidth, or 0 where nobody knows."
    return ""
