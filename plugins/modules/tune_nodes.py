#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: tune_nodes
short_description: Choose the node that stores a tuning study, and report nodes that did not work on it
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Reads what the role C(gaudi3.scale.gaudi_tune) has registered for each of O(hosts).
  - The study stays on the node that has it. A new one is kept on the first of O(hosts) that is still in the play.
  - Runs on the controller; nothing is sent to the node. Give it C(run_once).
options:
  name:
    description: Name of the study.
    type: str
    required: true
  hosts:
    description: The nodes of the study, in its order.
    type: list
    elements: str
    required: true
  storage:
    description: A storage of the site's own; when empty the node that keeps the study serves it.
    type: str
    default: ""
  port:
    description: Port of that node.
    type: int
    default: 29510
  directory:
    description: Directory on the nodes with what only the study's account reads.
    type: path
    required: true
attributes:
  check_mode:
    support: full
    description: Does the same, since it changes nothing.
  diff_mode:
    support: none
    description: Nothing is changed.
seealso:
  - module: gaudi3.scale.tune_plan
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Choose the node that stores the study
  gaudi3.scale.tune_nodes:
    name: llama
    hosts: [node1, node2]
    directory: /etc/gaudi3_scale/tune/llama
  run_once: true
  register: nodes
"""

RETURN = r"""
keeper:
  description: The node that keeps the study, or whose progress is shown; empty where no node is left.
  type: str
  returned: success
  sample: node1
serving:
  description: The same, but empty with a O(storage) of the site's own.
  type: str
  returned: success
  sample: node1
address:
  description: Address of that node.
  type: str
  returned: success
  sample: 192.0.2.1
where:
  description: Where the study is kept, without what may be secret.
  type: str
  returned: success
  sample: grpc://192.0.2.1:29510
access:
  description: Arguments by which a node finds the study.
  type: list
  elements: str
  returned: success
  sample: [--credentials, /etc/gaudi3_scale/tune/llama]
absent:
  description: From a node that did not work to the end to the reason.
  type: dict
  returned: success
  sample: {}
refusal:
  description: A sentence where the node that has the study does not answer; else empty.
  type: str
  returned: success
  sample: ""
"""
