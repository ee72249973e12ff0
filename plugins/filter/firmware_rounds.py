# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.firmware_rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._core_filter import core_filter

DOCUMENTATION = r"""
name: firmware_rounds
short_description: Hosts in rounds of at most one host of each rack
version_added: "0.1.0"
description:
  - Puts hosts into an order in which the firmware of their cards may be written. One host is the first round alone.
    Then the racks are worked on side by side, each host by host.
  - A host's rack is its variable C(gaudi_rack). All hosts without one are in one rack.
positional: hostvars, canary
options:
  _input:
    description: Names of hosts.
    type: list
    elements: str
    required: true
  hostvars:
    description: The variables of all hosts.
    type: dict
    required: true
  canary:
    description: The host of the first round. The first of the hosts when empty, or not among them.
    type: str
    default: ""
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Rounds of all nodes
  ansible.builtin.debug:
    msg: "{{ groups.gaudi | gaudi3.scale.firmware_rounds(hostvars) }}"
"""

RETURN = r"""
_value:
  description: The rounds in their order, each a list of hosts.
  type: list
  elements: list
"""


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"firmware_rounds": core_filter("plugin_utils._results.firmware_rounds", "firmware_rounds")}
