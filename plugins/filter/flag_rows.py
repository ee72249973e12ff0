# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.flag_rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

DOCUMENTATION = r"""
name: flag_rows
short_description: The verdicts on the flags of several nodes as one report
version_added: "0.1.0"
description:
  - Reads what M(gaudi3.scale.hpu_flags_info) left in the variable C(gaudi_flags_info_result) of each host.
  - Nodes that agree share a line.
options:
  _input:
    description: The variables of the nodes, as C(hostvars) has them.
    type: list
    elements: dict
    required: true
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Which flags are not real?
  ansible.builtin.debug:
    msg: "{{ (groups.gaudi | map('extract', hostvars) | gaudi3.scale.flag_rows).rows | rejectattr('real') }}"
"""

RETURN = r"""
_value:
  description: >-
    V(title), V(columns), V(rows), V(notes) and V(sections), as M(gaudi3.scale.report) takes them, and V(answered), the
    nodes that had an answer.
  type: dict
"""

RESULT = "gaudi_flags_info_result"


def rows(hosts: Iterable[Mapping[str, Any]]) -> dict[str, object]:
    """The report; a host without a result has a note."""
    # Here, since Ansible loads every filter of the collection to find one, in each of its forks anew.
    from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.flag_rows import flag_rows

    names, results = [], {}
    for host in hosts:
        names.append(host["inventory_hostname"])
        if RESULT in host:
            results[host["inventory_hostname"]] = host[RESULT]
    return flag_rows(results, names)


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"flag_rows": rows}
