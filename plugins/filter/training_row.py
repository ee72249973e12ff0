# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.training_row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._core_filter import core_filter

DOCUMENTATION = r"""
name: training_row
short_description: One node's line in the table at the end of a training job
version_added: "0.1.0"
description:
  - Reads what the playbook C(gaudi3.scale.launch_training) registered for a node as C(training_info).
positional: first
options:
  _input:
    description: The node's variables, as C(hostvars) has them.
    type: dict
    required: true
  first:
    description: What M(gaudi3.scale.training_job_info) returned on the node of rank 0, which has the metrics.
    type: dict
    required: true
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Rows of all nodes
  ansible.builtin.debug:
    msg: "{{ groups.gaudi | map('extract', hostvars) | map('gaudi3.scale.training_row', training_info) }}"
"""

RETURN = r"""
_value:
  description: The row, a value for each column.
  type: dict
"""


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"training_row": core_filter("plugin_utils._results.training_row", "training_row")}
