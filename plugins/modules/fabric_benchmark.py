#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_benchmark
short_description: Measure all-reduce between each pair of nodes over the selected network and an alternative
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Takes two nodes at a time, in the order of O(hosts), and runs C(gaudi3_scale.collectives) over the network that each
    has chosen; then over the next one that both could use. All pairs run at the same time. Of an odd number of nodes
    the last is measured with the first of its network once that one has had its own.
  - The sum is checked. What is compared is the bus bandwidth at the largest of O(sizes).
  - Nodes keep what was measured, and it is not measured again while nothing of it is another - the nodes, their
    networks and links, the node library, the options here.
  - Nodes that found by themselves another network than most are not measured, and named. Groups for which the
    operator has said the network may differ.
  - What M(gaudi3.scale.hpu_fabric_networks) has answered is read from the variable O(looked) of each host. Where it was
    not asked, that is what M(gaudi3.scale.hpu_fabric) has reported in the same run, C(measurable) in
    C(gaudi_fabric_result). A node whose answer is missing is named.
  - Give it C(run_once). It runs on the controller, with each node's own connection and C(become).
options:
  hosts:
    description: Inventory names of the nodes.
    type: list
    elements: str
    required: true
  looked:
    description: The variable of each host with its answer.
    type: str
    default: gaudi_fabric_networks_result
  sizes:
    description: Sizes of the all-reduce in bytes, ascending.
    type: list
    elements: int
    default: [1048576, 33554432, 268435456]
  margin:
    description: The fraction by which another network must be faster to be reported, 0.05 for a twentieth.
    type: float
    default: 0.05
  device:
    description: What the ranks compute on.
    type: str
    default: hpu
  processes_per_node:
    description: Ranks of a node.
    type: int
    default: 8
  rendezvous_port:
    description: Port at which the ranks of a pair meet, on the first of its nodes.
    type: int
    default: 29520
  timeout:
    description: Seconds that the ranks of one all-reduce may take to start, and as many that they have once all run.
    type: int
    default: 600
  again:
    description: Measure also what is known.
    type: bool
    default: false
  job:
    description: Further options of M(gaudi3.scale.training_job), such as C(user), C(venv) and C(environment_files).
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Nothing is measured; what is known is returned.
  diff_mode:
    support: none
    description: Nothing of the operator's is changed.
seealso:
  - module: gaudi3.scale.hpu_fabric_networks
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: List the networks over which the nodes can be measured
  gaudi3.scale.hpu_fabric_networks:
  register: gaudi_fabric_networks_result

- name: Measure
  gaudi3.scale.fabric_benchmark:
    hosts: "{{ ansible_play_hosts }}"
  run_once: true
  register: measured
"""

RETURN = r"""
nodes:
  description:
    - For each node C(state) (V(ok), V(slower), V(not ok) or V(not measured)), C(reason), C(chosen), C(partner),
      C(fastest), C(flags) of the fastest, C(time), C(cached), and C(rows) with C(provider), C(flags), C(why) and
      C(sizes), each with C(bytes), C(seconds) and C(busbw_gb_per_s).
  type: dict
  returned: success
refusals:
  description: One sentence for each node that is V(not ok).
  type: dict
  returned: success
"""
