# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.upgrade_report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

DOCUMENTATION = r"""
name: upgrade_report
short_description: The upgrade plans of many nodes as one report
version_added: "0.1.0"
description:
  - Reads what M(gaudi3.scale.hpu_upgrade_plan) left in the variable C(gaudi_upgrade_plan_result) of each host.
  - Nodes that are equal, with equal plans, are one line. A node that failed or could not be reached is a line too.
  - A host without the variable was left out of the play, and is left out here.
options:
  _input:
    description: The variables of the nodes, as C(hostvars) has them.
    type: list
    elements: dict
    required: true
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: One line for each group of equal nodes
  ansible.builtin.debug:
    msg: "{{ (groups.gaudi | map('extract', hostvars) | gaudi3.scale.upgrade_report).rows }}"
"""

RETURN = r"""
_value:
  description: V(columns), V(rows), V(notes), V(sections) and V(data), as M(gaudi3.scale.report) takes them;
    V(states), a word for each node.
  type: dict
"""

RESULT = "gaudi_upgrade_plan_result"


def results_of(hosts: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Host to result, of the hosts that have one."""
    return {host["inventory_hostname"]: host[RESULT] for host in hosts if RESULT in host}


def report(hosts: Iterable[Mapping[str, Any]]) -> dict[str, object]:
    """The report of these hosts."""
    # Here, since Ansible loads every filter of the collection to find one, in each of its forks anew.
    from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.upgrade_report import upgrade_report

    return upgrade_report(results_of(hosts))


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"upgrade_report": report}
