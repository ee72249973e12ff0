# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.verdict_row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._core_filter import core_filter

DOCUMENTATION = r"""
name: verdict_row
short_description: One node's line in the table at the end of the site playbook
version_added: "0.1.0"
description:
  - Reads what the layers of the playbook C(gaudi3.scale.site) registered for a node.
  - A node that did not get to the end has a line too, which says where it stopped, and a sentence why.
options:
  _input:
    description: The node's variables, as C(hostvars) has them.
    type: dict
    required: true
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Rows of all nodes
  ansible.builtin.debug:
    msg: "{{ groups.gaudi | map('extract', hostvars) | map('gaudi3.scale.verdict_row') }}"
"""

RETURN = r"""
_value:
  description: The row, a value for each column; V(reason) is a sentence where something is wrong.
  type: dict
"""


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"verdict_row": core_filter("plugin_utils._results.verdict_row", "verdict_row")}
