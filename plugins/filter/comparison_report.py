# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.comparison_report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

DOCUMENTATION = r"""
name: comparison_report
short_description: What settings do on several nodes, as one report
version_added: "0.1.0"
description:
  - Reads what M(gaudi3.scale.hpu_compare_settings) left in a variable of each host.
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
  tolerance:
    description: A node whose base is slower than the others' by more than this part is named.
    type: float
    default: 0.05
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Which settings help, and where?
  ansible.builtin.debug:
    msg: "{{ (groups.gaudi | map('extract', hostvars) | gaudi3.scale.comparison_report).rows }}"
"""

RETURN = r"""
_value:
  description: >-
    V(title), V(columns), V(rows), V(notes), V(intervals) and V(data), as M(gaudi3.scale.report) takes them;
    V(failures), a sentence for the hosts without an answer, by reason; and V(regressions), a phrase for each setting
    that is slower than in the baseline.
  type: dict
"""


def report(
    hosts: Iterable[Mapping[str, Any]], variable: str = "gaudi_comparison_result", tolerance: float = 0.05
) -> dict[str, Any]:
    """The report; a host without a result has a note."""
    # Here, since Ansible loads every filter of the collection to find one, in each of its forks anew.
    from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.comparison_report import comparison_report

    given = list(hosts)
    results = {host["inventory_hostname"]: host[variable] for host in given if variable in host}
    return comparison_report(results, [host["inventory_hostname"] for host in given], float(tolerance))


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"comparison_report": report}
