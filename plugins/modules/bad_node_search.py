#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: bad_node_search
short_description: Find nodes that slow down or stop the others, in few measurements
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - A measurement is an all-reduce over a group of nodes, which is as fast as its slowest. First all nodes in pairs,
    then each node of a bad pair with a partner from a good one, then once more with another such partner. Groups of a
    round run at the same time, so that it takes three rounds, whatever the number of nodes.
  - A node is bad where it was so three times, each time with another partner. A pair that is bad twice, and whose nodes
    are good with others, is a bad link, of which neither node is accused.
  - The reference is the median of all pairs, so more than half of them must be healthy.
  - Give it C(run_once). It runs on the controller, with each node's own connection and C(become).
options:
  hosts:
    description: Inventory names of the nodes.
    type: list
    elements: str
    required: true
  expected:
    description:
      - GB/s of bus bandwidth that a good group has, at the largest of O(sizes). With it all nodes are measured together
        first, and nothing else where that is good.
    type: float
    default: 0.0
  tolerance:
    description: The part by which a bad group is slower, 0.15 for fifteen hundredths.
    type: float
    default: 0.15
  sizes:
    description: Sizes of the all-reduce in bytes, ascending.
    type: list
    elements: int
    default: [1048576, 268435456]
  seconds:
    description: Seconds that each size is measured, about.
    type: float
    default: 1.0
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
  - module: gaudi3.scale.node_qualification
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Find nodes that slow the others down
  gaudi3.scale.bad_node_search:
    hosts: "{{ ansible_play_hosts }}"
  run_once: true
  register: searched
"""

RETURN = r"""
bad:
  description: Each faulty node, with its measurements as text.
  type: dict
  returned: success
links:
  description: Pairs of nodes that work with others and not with each other.
  type: list
  elements: list
  returned: success
unknown:
  description: Nodes of which nobody could tell, with the reason.
  type: dict
  returned: success
good:
  description: The other nodes, in their order.
  type: list
  elements: str
  returned: success
questions:
  description: How many groups were measured.
  type: int
  returned: success
rounds:
  description: In how many rounds.
  type: int
  returned: success
expected:
  description: GB/s of bus bandwidth of a good group.
  type: float
  returned: success
measured:
  description: Each group in its order with C(round), C(nodes), and C(busbw_gb_per_s) or C(why) there is none.
  type: list
  elements: dict
  returned: success
"""
