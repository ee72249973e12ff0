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
  - Used by the role C(gaudi_quarantine) to count the nodes in quarantine. The nodes' own state is not sufficient,
    because a node that reports a false state would keep the others in service.
  - Runs on the controller and contacts no node. Run it with C(run_once).
options:
  path:
    description: Location of the record, a file on the controller or V(s3://bucket/prefix/name).
    type: str
    required: true
  state:
    description:
      - V(read) returns which of O(nodes) are out of service. A recorded node that is not in quarantine according to
        M(gaudi3.scale.node_quarantine_info) has been returned. Without a record, the nodes' own state counts.
      - V(kept) adds O(node), V(forgotten) removes it.
    type: str
    choices: [read, kept, forgotten]
    default: read
  node:
    description: Inventory name of the node.
    type: str
    default: ""
  nodes:
    description: Nodes to count.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
    description: Writes nothing.
  diff_mode:
    support: none
    description: No diff; the node's own mark is shown instead.
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
  description: Nodes that are out of service.
  type: list
  elements: str
  returned: success
"""
