# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.node_difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

DOCUMENTATION = r"""
name: node_difference
short_description: How one node differs from the majority of its group
version_added: "0.1.0"
description:
  - Reads what M(gaudi3.scale.hpu_upgrade_plan) left in the variable C(gaudi_upgrade_plan_result) of each host.
positional: node
options:
  _input:
    description: The variables of the nodes, as C(hostvars) has them.
    type: list
    elements: dict
    required: true
  node:
    description: The name of the node to explain.
    type: str
    required: true
  same_generation:
    description: Whether only nodes with cards of the same generation are compared.
    type: bool
    default: true
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: What is different on gaudi-03?
  ansible.builtin.debug:
    msg: "{{ (groups.gaudi | map('extract', hostvars) | gaudi3.scale.node_difference('gaudi-03')).rows }}"
"""

RETURN = r"""
_value:
  description: V(title), V(columns), V(rows) and V(notes), as M(gaudi3.scale.report) takes them.
  type: dict
"""

RESULT = "gaudi_upgrade_plan_result"


def explain(hosts: Iterable[Mapping[str, Any]], node: str, same_generation: bool = True) -> dict[str, object]:
    """The report of ``node``; what cannot be said is Ansible's own error."""
    # Here, since Ansible loads every filter of the collection to find one, in each of its forks anew.
    from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
    from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.difference import node_difference

    results = {host["inventory_hostname"]: host[RESULT] for host in hosts if RESULT in host}
    try:
        return node_difference(results, node, same_generation)
    except GaudiError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"node_difference": explain}
