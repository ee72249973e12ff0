#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: firmware_options
short_description: Validate the options of a firmware update
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Fails with an error message for the first invalid option, so that it is known before anything is
    touched. The sentence has the name of the option of the role C(gaudi_firmware).
  - Runs on the controller; nothing is sent to the node.
options:
  hosts:
    description: Inventory names of the hosts of the run.
    type: list
    elements: str
    required: true
  accept:
    description: From a generation to the version in full.
    type: raw
    required: true
  canary:
    description: The node that is written first. One of O(hosts), or empty.
    type: str
    default: ""
  drain:
    description: What keeps the nodes busy, V(none), V(slurm) or V(commands).
    type: str
    default: none
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
  gaudi3.scale.firmware_options:
    hosts: [node1, node2]
    accept: {gaudi3: 1.22.0-fw-61.3.2-sec-3}
    canary: node1
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
