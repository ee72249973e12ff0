#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: firmware_rounds
short_description: Group hosts into rounds with at most one host per rack
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Puts hosts into an order in which the firmware of their cards may be written. One host is the first round alone.
    Then the racks are worked on side by side, each host by host.
  - A host's rack is its variable C(gaudi_rack). All hosts without one are in one rack.
  - Only hosts that have something to do are in a round, so that the first round is one that really writes.
  - Runs on the controller; nothing is sent to the node.
options:
  hosts:
    description: Inventory names of the hosts of the run.
    type: list
    elements: str
    required: true
  shown:
    description: Name of the variable in which O(hosts) have what M(gaudi3.scale.hpu_firmware) returned.
    type: str
    required: true
  canary:
    description: The host of the first round. The first of the hosts when empty, or where it has nothing to do.
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Does the same, since it changes nothing.
  diff_mode:
    support: none
    description: Nothing is changed.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Plan the rounds
  gaudi3.scale.firmware_rounds:
    hosts: [node1, node2]
    shown: firmware_shown
  register: order
  run_once: true
"""

RETURN = r"""
rounds:
  description: The rounds in their order, each a list of hosts.
  type: list
  elements: list
  returned: success
  sample: [[node1], [node2, node3]]
hosts:
  description:
    - The hosts of all rounds, one after the other, as C(hosts) of a play.
    - A pattern that matches no host where there are none.
  type: list
  elements: str
  returned: success
  sample: [node1, node2, node3]
sizes:
  description: How many hosts each round has, as C(serial) of a play.
  type: list
  elements: int
  returned: success
  sample: [1, 2]
"""
