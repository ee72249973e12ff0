#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade_batch
short_description: Decide whether an upgrade continues with the remaining nodes
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Looks at what M(gaudi3.scale.upgrade_outcome) has registered on all hosts, and says whether those whose turn has not
    come are to be left alone.
  - Runs on the controller; nothing is sent to the node.
options:
  hosts:
    description: Inventory names of the hosts of the run.
    type: list
    elements: str
    required: true
  outcome:
    description: Name of the variable in which O(hosts) have what M(gaudi3.scale.upgrade_outcome) returned.
    type: str
    required: true
  canary:
    description: The node that has to come through. The first of O(hosts) when empty.
    type: str
    default: ""
  max_fail_percentage:
    description: Nodes that may fail, in per cent of O(hosts). A tenth, and always one, when empty.
    type: raw
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
- name: Decide whether to continue with the remaining nodes
  gaudi3.scale.upgrade_batch:
    hosts: "{{ ansible_play_hosts_all }}"
    outcome: upgraded
  register: batch
  run_once: true
"""

RETURN = r"""
stop:
  description: Whether the canary or too many nodes are unhealthy.
  type: bool
  returned: success
sick:
  description: Nodes whose turn has come and that are not at the release.
  type: list
  elements: str
  returned: success
"""
