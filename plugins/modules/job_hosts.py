#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: job_hosts
short_description: Validate the hosts of a job
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Fails with an error message where O(hosts) is empty, names a host twice or one that is not in the inventory, or
    where a host of it is not in the play.
  - The same where the run is a slice of a job template of AWX, which sees a part of the inventory.
  - Ranks come from the list, and never from the hosts that a C(--limit) leaves, which would be renumbered.
  - Runs on the controller; nothing is sent to the node. Give it C(run_once).
options:
  hosts:
    description: Inventory names of the job's hosts, in the order of their ranks.
    type: list
    elements: str
    required: true
  spares:
    description: Hosts that stand by. Only for O(engine=torchrun).
    type: list
    elements: str
    default: []
  witness:
    description: A host that votes and runs nothing of the job; none when empty. Only for O(engine=torchrun).
    type: str
    default: ""
  engine:
    description: What starts the ranks.
    type: str
    default: torchrun
  option:
    description: The variable that the operator names O(hosts) in, for messages.
    type: str
    default: hosts
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
- name: Validate the hosts
  gaudi3.scale.job_hosts:
    hosts: [node1, node2]
    option: gaudi_training_hosts
  run_once: true
"""

RETURN = r"""
hosts:
  description: The hosts, in the order of their ranks.
  type: list
  elements: str
  returned: success
  sample: [node1, node2]
"""
