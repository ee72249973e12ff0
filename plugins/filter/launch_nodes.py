# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.launch_nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._core_filter import core_filter

DOCUMENTATION = r"""
name: launch_nodes
short_description: Which nodes a launch of a training job goes on with
version_added: "0.1.0"
description:
  - A node that does not answer, or on which a task failed, is left out where enough others are there. Else the launch
    is refused.
positional: first
options:
  _input:
    description: The hosts of the job in the order of their ranks.
    type: list
    elements: str
    required: true
  answers:
    description:
      - What the task returned, by node. One without RV(gaudi3.scale.training_job#module:state) has failed.
      - Nodes that took no part are left as they are.
    type: dict
    required: true
  spares:
    description: Nodes that stand by.
    type: list
    elements: str
    default: []
  min_nodes:
    description: How few nodes the job can run on; 0 for as many as there are hosts.
    type: int
    default: 0
  left_out:
    description: Nodes that were left out before, and why.
    type: dict
    default: {}
  witness:
    description: A node that votes on how the job goes on and has no ranks of it. Empty for none.
    type: str
    default: ""
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Go on with those that answered
  ansible.builtin.set_fact:
    chosen: "{{ groups.gaudi | gaudi3.scale.launch_nodes(answers) }}"
  vars:
    answers: "{{ dict(groups.gaudi | zip(groups.gaudi | map('extract', hostvars, 'look'))) }}"
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - C(start) has the nodes to go on with, first one on which the job runs, if any. C(left_out) says why by node.
    - C(starting) are those of them on which it can be started at once - all, or the first where one knows the job
      already. C(joining) are those that are not in the run of the first.
    - C(refusal) is a sentence where too few nodes are left, or where they differ in version
      (RV(gaudi3.scale.training_job#module:library)), and empty otherwise.
  type: dict
"""


def launch_nodes(*values: Any, **options: Any) -> Any:
    """It becomes a fact, and has the reasons that nodes gave."""
    # Here, since Ansible loads every filter of the collection to find one, in each of its forks anew.
    from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import literals

    return literals(core_filter("plugin_utils._results.launch_nodes", "launch_nodes")(*values, **options))


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"launch_nodes": launch_nodes}
