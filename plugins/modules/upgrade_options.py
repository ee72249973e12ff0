#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade_options
short_description: Validate the options of an upgrade
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Fails with an error message for the first invalid option, so that it is known before anything is
    touched. The sentence has the name of the option of the role C(gaudi_driver_upgrade).
  - Runs on the controller; nothing is sent to the node.
options:
  pattern:
    description: The pattern that O(hosts) come from, for messages.
    type: raw
    default: gaudi
  hosts:
    description: Inventory names of the hosts of the run. At least one.
    type: list
    elements: str
    required: true
  serial:
    description: Size of each batch, a number of nodes or a percentage, or a list of them.
    type: raw
    default: [1, 10%, 25%]
  canary:
    description: The node that goes first and alone. One of O(hosts), or empty.
    type: str
    default: ""
  max_fail_percentage:
    description: A number from 0 to 100, or nothing.
    type: raw
    default: ""
  drain:
    description: What keeps the nodes busy, V(none), V(slurm) or V(commands).
    type: str
    default: none
  layers:
    description: Layers above the driver.
    type: list
    elements: str
    default: []
  node:
    description: A node that is to be explained. Where it is given, it has to be one of O(hosts).
    type: str
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
- name: Validate the options
  gaudi3.scale.upgrade_options:
    hosts: [node1, node2]
    canary: node1
    serial: [1, 50%]
  run_once: true
"""

RETURN = r"""
hosts:
  description: The hosts of the run.
  type: list
  elements: str
  returned: success
  sample: [node1, node2]
"""
