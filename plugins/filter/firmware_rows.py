# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.firmware_rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._core_filter import core_filter

DOCUMENTATION = r"""
name: firmware_rows
short_description: The lines of the firmware table
version_added: "0.1.0"
description:
  - Reads what the playbook C(gaudi3.scale.upgrade_firmware) registered for the nodes.
  - Cards of a node that show the same are one line. A node that did not answer has a line too.
options:
  _input:
    description: The variables of each node, as C(hostvars) has them.
    type: list
    elements: dict
    required: true
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Rows of all nodes
  ansible.builtin.debug:
    msg: "{{ groups.gaudi | map('extract', hostvars) | gaudi3.scale.firmware_rows }}"
"""

RETURN = r"""
_value:
  description: The rows, a value for each column; V(reason) is a sentence where something is wrong.
  type: list
  elements: dict
"""


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"firmware_rows": core_filter("plugin_utils._results.firmware_rows", "firmware_rows")}
