# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.tune_nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

DOCUMENTATION = r"""
name: tune_nodes
short_description: Which node keeps a tuning study, and which did not work on it
version_added: "0.1.0"
description:
  - Reads what the playbook C(gaudi3.scale.tune_training) registered for each node.
positional: alive
options:
  _input:
    description: The variables of the study's nodes, as C(hostvars) has them, in the study's order.
    type: list
    elements: dict
    required: true
  alive:
    description: The nodes that answered so far.
    type: list
    elements: str
    required: true
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Who keeps the study?
  ansible.builtin.debug:
    msg: "{{ (groups.gaudi | map('extract', hostvars) | gaudi3.scale.tune_nodes(ansible_play_hosts)).keeper }}"
"""

RETURN = r"""
_value:
  description: >-
    V(keeper), the node that has the study, else the first that answered; V(lost_keeper), the node that has it and does
    not answer, or nothing; V(absent), a mapping from a node that did not work to the end to the reason.
  type: dict
"""


def nodes(hosts: Iterable[Mapping[str, Any]], alive: Iterable[str]) -> dict[str, object]:
    """See :func:`tune_nodes`."""
    # Here, since Ansible loads every filter of the collection to find one, in each of its forks anew.
    from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.tune_nodes import tune_nodes

    return tune_nodes(list(hosts), list(alive))


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"tune_nodes": nodes}
