# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.comparison_kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

DOCUMENTATION = r"""
name: comparison_kept
short_description: The settings that help on every node, as variables
version_added: "0.1.0"
description:
  - Reads what M(gaudi3.scale.hpu_compare_settings) left in a variable of each host.
  - Of several settings that help, all together are kept where they were measured and are better than the best alone,
    else the best alone.
positional: together, built_in, present
options:
  _input:
    description: The variables of the nodes, as C(hostvars) has them.
    type: list
    elements: dict
    required: true
  variable:
    description: Name of that variable.
    type: str
    default: gaudi_comparison_result
  together:
    description: Name of the variable with the comparison of all that help together against the best alone.
    type: str
    default: gaudi_comparison_together_result
  built_in:
    description: Whether the workload is the one of the built-in trainer, whose variables are known.
    type: bool
    default: true
  present:
    description: The operator's own values of the variables, by name. Dictionaries and lists keep what they have.
    type: dict
    default: {}
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: What is worth keeping?
  ansible.builtin.debug:
    msg: "{{ (groups.gaudi | map('extract', hostvars) | gaudi3.scale.comparison_kept).variables }}"
"""

RETURN = r"""
_value:
  description: >-
    V(names), the settings that are kept; V(variables), for C(launch_training) and the role C(gaudi_tuning);
    V(without_variable), options of the workload that no variable carries to the trainer; and V(second), the base and
    the settings of the comparison of all together, V(null) where there is none to make.
  type: dict
"""


def kept(
    hosts: Iterable[Mapping[str, Any]],
    variable: str = "gaudi_comparison_result",
    together: str = "gaudi_comparison_together_result",
    built_in: bool = True,
    present: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What is kept of the comparisons of these hosts."""
    # Here, since Ansible loads every filter of the collection to find one, in each of its forks anew.
    from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.comparison_kept import (
        kept_changes,
        launch_variables,
        plain_variables,
        second_question,
        without_variable,
    )

    given = list(hosts)
    first, second = (
        {host["inventory_hostname"]: host[name] for host in given if name in host} for name in (variable, together)
    )
    names, changes = kept_changes(first, second or None)
    return {
        "names": names,
        "variables": launch_variables(changes, plain_variables(first), built_in, present or {}),
        "without_variable": without_variable(changes, built_in),
        "second": second_question(first),
    }


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"comparison_kept": kept}
