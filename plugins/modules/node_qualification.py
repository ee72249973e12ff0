#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: node_qualification
short_description: Qualify cards, nodes, pairs and the ring, and list the hosts for the next job
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - A funnel of O(stages), each for all nodes at the same time. V(self_test) is what M(gaudi3.scale.hpu_qualify) runs on
    each, V(compute) products and copies on every card, checked bit by bit, V(collectives) an all-reduce over each
    node's own cards, V(pairs) one over every two nodes in rounds, V(ring) one over the largest good ring, V(training)
    a short real training.
  - A node that fails a stage is named with the reason and is in none that follows. A faulty node never stops the
    others.
  - Nodes and cards are held against the median of their kind, and against O(baseline), if there is one.
  - Give it C(run_once). It runs on the controller, with each node's own connection and C(become).
options:
  hosts:
    description: Inventory names of the nodes.
    type: list
    elements: str
    required: true
  level:
    description: As O(gaudi3.scale.hpu_qualify#module:level). It also says with how many partners a node is measured.
    type: str
    choices: [quick, full, burn_in]
    default: quick
  stages:
    description: The stages to run.
    type: list
    elements: str
    choices: [self_test, compute, collectives, pairs, ring, training]
    default: [self_test, compute, collectives, pairs, ring, training]
  own:
    description: Further options of M(gaudi3.scale.hpu_qualify), for every node.
    type: dict
    default: {}
  follow:
    description: Whether the nodes' own tests are waited for. Otherwise they are started, and the run ends.
    type: bool
    default: true
  timeout:
    description: Seconds that the nodes' own tests may take. The level says it when V(0).
    type: int
    default: 0
  compute:
    description: Further words of C(gaudi3_scale.compute), such as C(--memory-mib).
    type: list
    elements: str
    default: []
  pair_rounds:
    description: With how many partners each node is measured. The level says it when V(0).
    type: int
    default: 0
  sizes:
    description: Sizes of the all-reduces in bytes, ascending. The largest is what counts.
    type: list
    elements: int
    default: [1048576, 268435456]
  seconds:
    description: Seconds that each size is measured, about.
    type: float
    default: 1.0
  tolerance:
    description: The part below the median from which on a card, a node or a pair is slow, 0.15 for fifteen hundredths.
    type: float
    default: 0.15
  text:
    description: Files and directories on the nodes that the short training reads.
    type: list
    elements: str
    default: []
  training_steps:
    description: Steps of the short training. The level says it when V(0).
    type: int
    default: 0
  group_timeout:
    description:
      - Seconds that the ranks of a group have once all of them run. Ranks that hang are ended then, and the others go
        on.
      - That they are over is not a fault. A node is considered faulty only if others needed a quarter of them at
        most.
    type: int
    default: 120
  start_timeout:
    description:
      - Seconds that the ranks of a group may take to start and to find each other. Where their libraries lie on slow
        storage, or the controller asks few nodes at a time, that takes minutes.
    type: int
    default: 300
  baseline:
    description: File of the controller that M(gaudi3.scale.qualification_baseline) has written. It need not exist.
    type: str
    default: ""
  regression:
    description: The part below the baseline from which on a figure is named.
    type: float
    default: 0.05
  spares:
    description: How many healthy nodes are kept as spares.
    type: int
    default: 0
  drain_share:
    description:
      - The part of the nodes that may be kept out of service, and always one. Where more are unhealthy, none is, and a
        person has to look first. With V(0) nobody is.
    type: float
    default: 0.0
  device:
    description: What the ranks compute on.
    type: str
    default: hpu
  processes_per_node:
    description: Ranks of a node.
    type: int
    default: 8
  rendezvous_port:
    description: Port at which the ranks of a group meet, on the first of its nodes.
    type: int
    default: 29540
  job:
    description: Further options of M(gaudi3.scale.training_job), such as C(user), C(venv) and C(environment_files).
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Nothing is measured. What the options would be refused for is refused.
  diff_mode:
    support: none
    description: Nothing of the operator's is changed.
seealso:
  - module: gaudi3.scale.hpu_qualify
  - module: gaudi3.scale.qualification_baseline
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Qualify the nodes for a job
  gaudi3.scale.node_qualification:
    hosts: "{{ ansible_play_hosts }}"
    own:
      release: 1.24.1
      cards: 8
    text: [/usr/share/common-licenses]
  run_once: true
  register: qualified
"""

RETURN = r"""
data:
  description:
    - All that was measured. C(nodes) has each node's C(state) (V(healthy), V(unhealthy) or V(could_not_tell)),
      C(action), C(reasons), C(remarks), C(stages) and C(cards); C(pairs) each pair with C(busbw_gb_per_s), C(why),
      C(round), and C(late) where its time was over; C(ring) its C(hosts) and C(busbw_gb_per_s); C(seconds) how long
      each stage took.
    - C(hosts), C(spares) and C(left_out), node to reason, are for the next job.
  type: dict
  returned: success
kept_out:
  description: The unhealthy nodes that stay out of service; empty where they are too many.
  type: list
  elements: str
  returned: success
"""
