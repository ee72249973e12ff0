# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure an all-reduce between every two nodes over the network that is chosen, and over another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleError
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.answers import LOOKED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.nodes import measured_nodes
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.rounds import Settings
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.verdict import NOT_OK
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_collectives import Collectives, sizes_refusal
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_jobs import Ranks
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_limit import Limits
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import literals, taken
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import ANSWER_SECONDS, addresses, questions
from ansible_collections.gaudi3.scale.plugins.plugin_utils._on_nodes import given
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import failed, show

ARGUMENTS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "looked": {"type": "str", "default": "gaudi_fabric_networks_result"},
    "sizes": {"type": "list", "elements": "int", "default": [1 << 20, 1 << 25, 1 << 28]},
    "margin": {"type": "float", "default": 0.05},
    "device": {"type": "str", "default": "hpu"},
    "processes_per_node": {"type": "int", "default": 8},
    "rendezvous_port": {"type": "int", "default": 29520},
    "timeout": {"type": "int", "default": 600},
    "again": {"type": "bool", "default": False},
    "job": {"type": "dict", "default": {}},
}
# What an operator raises: so long may ranks take to start, and then to measure.
OPTION = "gaudi_ranks_timeout"
# What the role's main part registers.
SET_UP = "gaudi_fabric_result"


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.fabric_benchmark``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Measure what is not known; a node where it does not end well is told in ``refusals``."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        if refusal := _refusal(options):
            return {"failed": True, "msg": refusal}
        try:
            return self._measured(options, task_vars)
        except AnsibleError:
            raise
        except Exception as error:
            return failed(error)

    def _measured(self, options: Mapping[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        hosts, hostvars = options["hosts"], task_vars["hostvars"]
        looks, silent = _looks(options["looked"], {host: hostvars[host] for host in hosts})
        names = ("device", "processes_per_node", "rendezvous_port", "timeout")
        limits = Limits(options["timeout"], OPTION, OPTION)
        ranks = Ranks(**{name: options[name] for name in names}, job=given(options["job"]), limits=limits)
        settings = Settings(Collectives(options["sizes"], ranks), options["again"])
        ask = questions(self, list(looks), task_vars, ranks.longest + ANSWER_SECONDS)
        measure = None if self._task.check_mode else ask
        nodes = measured_nodes(looks, silent, addresses(hosts, task_vars), settings, options["margin"], measure, show)
        refusals = {host: found.reason for host, found in nodes.items() if found.state == NOT_OK}
        return {
            "changed": False,
            **literals({"nodes": {host: asdict(found) for host, found in nodes.items()}, "refusals": refusals}),
        }


def _refusal(options: Mapping[str, Any]) -> str:
    """One sentence for options that mean nothing; else empty."""
    if said := sizes_refusal(options["sizes"]):
        return said
    if options["margin"] < 0:
        return (
            f"margin is {options['margin']:g}; give the fraction by which another network has to be faster, such "
            "as 0.05."
        )
    return ""


def _looks(variable: str, hosts: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """What each node answered, and why another's answer cannot be used."""
    looks, silent = {}, {}
    for host, variables in hosts.items():
        answer = variables.get(variable)
        if not isinstance(answer, Mapping) or "networks" not in answer:
            answer = _of_this_run(variables) or answer
        if not isinstance(answer, Mapping) or "networks" not in answer:
            said = answer.get("msg") if isinstance(answer, Mapping) else None
            silent[host] = str(said or "its networks were not read")
            continue
        try:
            looks[host] = taken(host, "hpu_fabric_networks", LOOKED, answer)
        except GaudiError as error:
            silent[host] = str(error)
    return looks, silent


def _of_this_run(variables: Any) -> Any:
    """What hpu_fabric has told in this run, which need not be asked again."""
    set_up = variables.get(SET_UP)
    return set_up.get("measurable") if isinstance(set_up, Mapping) else None
