#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: firmware_batch
short_description: Decide whether a firmware rollout continues with the remaining nodes
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Looks at what M(gaudi3.scale.firmware_outcome) has registered on all hosts. When the first batch that writes goes
    wrong, the others are to be left alone; later an unhealthy node does not stop the others.
  - Runs on the controller; nothing is sent to the node.
options:
  hosts:
    description: Inventory names of the hosts of the run.
    type: list
    elements: str
    required: true
  outcome:
    description: Name of the variable in which O(hosts) have what M(gaudi3.scale.firmware_outcome) returned.
    type: str
    required: true
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
- name: Decide whether to continue with the remaining nodes
  gaudi3.scale.firmware_batch:
    hosts: "{{ ansible_play_hosts_all }}"
    outcome: outcome
  register: batch
  run_once: true
"""

RETURN = r"""
stop:
  description: Whether the batch went wrong and none before it has written.
  type: bool
  returned: success
"""
