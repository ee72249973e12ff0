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
  - With O(step=qualify) a funnel of O(stages), each for all nodes at the same time. V(self_test) is what
    M(gaudi3.scale.hpu_qualify) runs on each, V(compute) products and copies on every card, checked bit by bit,
    V(collectives) an all-reduce over each node's own cards, V(pairs) one over every two nodes in rounds, V(ring) one
    over the largest good ring, V(training) a short real training.
  - A node that fails a stage is named with the reason and is in none that follows. A bad node never stops the others.
  - Nodes and cards are held against the median of their kind, and against O(baseline), if there is one.
  - With O(step=search) it only finds which nodes slow down or stop the others, in few measurements. A measurement is an
    all-reduce over a group of nodes, which is as fast as its slowest. First all nodes in pairs, then each node of a bad
    pair with a partner from a good one, then once more with another such partner. Groups of a round run at the same
    time, so that it takes three rounds, whatever the number of nodes. A node is bad where it was so three times, each
    time with another partner. A pair that is bad twice, and whose nodes are good with others, is a bad link, of which
    neither node is accused. What is bad is told by the median of all pairs, so more than half of them have to be good.
  - Give it C(run_once). It runs on the controller, with each node's own connection and C(become).
options:
  step:
    description:
      - V(qualify) and V(search) measure, as above.
      - V(keep_baseline) takes every rate of the healthy nodes out of O(report), and keeps it in O(baseline). Later
        qualifications of the same release are held against it. Figures of nodes that are not healthy are left out. A
        node that is in an earlier baseline and not in this one is named. No node is asked.
    type: str
    choices: [qualify, search, keep_baseline]
    default: qualify
  hosts:
    description: Inventory names of the nodes. Required with O(step=qualify) and O(step=search).
    type: list
    elements: str
  expected:
    description:
      - GB/s of bus bandwidth that a good group has, at the largest of O(sizes). With it all nodes are measured together
        first, and nothing else where that is good. With O(step=search).
    type: float
    default: 0.0
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
    description:
      - The file that O(step=keep_baseline) writes, on the controller or in a bucket. With O(step=qualify) it need not
        exist.
    type: str
  report:
    description:
      - The JSON of C(qualify_nodes.yml), a file of the controller or in a bucket. Required with O(step=keep_baseline),
        as is O(baseline).
    type: str
  regression:
    description: The part below the baseline from which on a figure is named.
    type: float
    default: 0.05
  spares:
    description: How many healthy nodes are kept as spares.
    type: int
    default: 0
  max_drained_fraction:
    description:
      - The largest fraction of the nodes that may stay drained; one node always may. If more are unhealthy, none stays
        drained, and a person has to look first. V(0) keeps none.
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
    description: Nothing is measured or written. What the options would be refused for is refused.
  diff_mode:
    support: none
    description: A file of thousands of figures is no difference that anybody reads.
seealso:
  - module: gaudi3.scale.hpu_qualify
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

- name: Who slows the others down?
  gaudi3.scale.node_qualification:
    step: search
    hosts: "{{ ansible_play_hosts }}"
  run_once: true
  register: searched

- name: What these nodes do is what they have to do from now on
  gaudi3.scale.node_qualification:
    step: keep_baseline
    report: gaudi3_scale_reports/qualify_nodes.json
    baseline: gaudi3_scale_reports/qualification_baseline.json
  run_once: true
"""

RETURN = r"""
data:
  description:
    - All that was measured. C(nodes) has each node's C(state) (V(healthy), V(unhealthy) or V(inconclusive)),
      C(action), C(reasons), C(remarks), C(stages) and C(cards); C(pairs) each pair with C(busbw_gb_per_s), C(why),
      C(round), and C(late) where its time was over; C(ring) its C(hosts) and C(busbw_gb_per_s); C(seconds) how long
      each stage took.
    - C(hosts), C(spares) and C(left_out), node to reason, are for the next job.
  type: dict
  returned: with O(step=qualify)
kept_out:
  description: The unhealthy nodes that stay out of service; empty where they are too many.
  type: list
  elements: str
  returned: with O(step=qualify)
bad:
  description: Each bad node, with its measurements in words.
  type: dict
  returned: with O(step=search)
links:
  description: Pairs of nodes that work with others and not with each other.
  type: list
  elements: list
  returned: with O(step=search)
unknown:
  description: Nodes of which nobody could tell, with the reason.
  type: dict
  returned: with O(step=search)
good:
  description: The other nodes, in their order.
  type: list
  elements: str
  returned: with O(step=search)
questions:
  description: How many groups were measured.
  type: int
  returned: with O(step=search)
rounds:
  description: In how many rounds.
  type: int
  returned: with O(step=search)
expected:
  description: GB/s of bus bandwidth of a good group.
  type: float
  returned: with O(step=search)
measured:
  description: Each group in its order with C(round), C(nodes), and C(busbw_gb_per_s) or C(why) there is none.
  type: list
  elements: dict
  returned: with O(step=search)
figures:
  description: How many figures are kept.
  type: int
  returned: with O(step=keep_baseline)
nodes:
  description: The nodes of which they are.
  type: list
  elements: str
  returned: with O(step=keep_baseline)
dropped:
  description: Nodes of the earlier baseline that are not in this one.
  type: list
  elements: str
  returned: with O(step=keep_baseline)
"""
