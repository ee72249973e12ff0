#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: quarantine_marks
short_description: Record on the controller which nodes it has taken out of service
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Serves the role C(gaudi_quarantine), which counts by it how many nodes are in quarantine. What a node says of itself
    is not enough, since one that lies would keep the others in service.
  - Runs on the controller; nothing is sent to a node. Give it C(run_once).
options:
  path:
    description: Where it is kept, a file of the controller or V(s3://bucket/prefix/name).
    type: str
    required: true
  state:
    description:
      - V(read) tells which of O(nodes) are out of service. One that is kept and says by
        M(gaudi3.scale.node_quarantine_info) that it is not, has been given back. Where nothing was kept yet, the nodes'
        own words count.
      - V(kept) adds O(node), V(forgotten) takes it out.
    type: str
    choices: [read, kept, forgotten]
    default: read
  node:
    description: The node, by its name in the inventory.
    type: str
    default: ""
  nodes:
    description: Those that are counted.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
    description: Writes nothing.
  diff_mode:
    support: none
    description: The node's own mark is what is shown.
seealso:
  - module: gaudi3.scale.node_quarantine
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: List the nodes that are out of service
  gaudi3.scale.quarantine_marks:
    path: ~/.gaudi3_scale/quarantine.json
    nodes: "{{ ansible_play_hosts_all }}"
  run_once: true
"""

RETURN = r"""
quarantined:
  description: The nodes that are out of service.
  type: list
  elements: str
  returned: success
"""
