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
  - Runs C(gaudi3_scale.collectives) on two nodes at a time, in the order of O(hosts), over each node's selected network
    and then over the next network that both could use. All pairs run in parallel. With an odd number of nodes, the last
    one is measured with the first node of its network after that node's own pair.
  - The sum is verified. Networks are compared by busbw at the largest of O(sizes).
  - With C(efa) selected, the alternative is TCP alone (C(FI_PROVIDER=tcp)). EFA that is not faster by more than
    O(margin) is reported, because HCCL then does not use it or gains nothing from it.
  - Nodes store the results. They are reused until the nodes, their networks or links, the node library or these options
    change.
  - Nodes that automatically selected a different network from the majority are reported and not measured. Groups may
    differ if the operator set their network.
  - Reads the result of M(gaudi3.scale.hpu_fabric_networks) from the host variable O(looked). Without it, it uses
    C(measurable) in C(gaudi_fabric_result), which M(gaudi3.scale.hpu_fabric) reported in the same run. Nodes without
    either are reported.
  - Run it with C(run_once). It runs on the controller and uses each node's connection and C(become).
options:
  hosts:
    description: Inventory names of the nodes.
    type: list
    elements: str
    required: true
  looked:
    description: Host variable with the result.
    type: str
    default: gaudi_fabric_networks_result
  sizes:
    description: All-reduce sizes in bytes, ascending.
    type: list
    elements: int
    default: [1048576, 33554432, 268435456]
  margin:
    description: Fraction by which another network must be faster to be reported, such as 0.05 for 5 %.
    type: float
    default: 0.05
  device:
    description: Device that the ranks compute on.
    type: str
    default: hpu
  processes_per_node:
    description: Ranks per node.
    type: int
    default: 8
  rendezvous_port:
    description: Rendezvous port, on the first node of each pair.
    type: int
    default: 29520
  timeout:
    description: Seconds for the ranks of one all-reduce to start, and the same again once all of them run.
    type: int
    default: 600
  again:
    description: Ignore stored results and measure again.
    type: bool
    default: false
  job:
    description: More options of M(gaudi3.scale.training_job), such as C(user), C(venv) and C(environment_files).
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Measures nothing and returns stored results.
  diff_mode:
    support: none
    description: Changes no files of the operator.
seealso:
  - module: gaudi3.scale.hpu_fabric_networks
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: List the networks that can be measured
  gaudi3.scale.hpu_fabric_networks:
  register: gaudi_fabric_networks_result

- name: Measure them
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
  description: One error message for each node that is V(not ok).
  type: dict
  returned: success
"""
