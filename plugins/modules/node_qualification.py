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
  - O(step=qualify) runs O(stages) one after another, each on all nodes in parallel. V(self_test) runs
    M(gaudi3.scale.hpu_qualify) on each node, V(compute) products and copies on every card, checked bit by bit,
    V(collectives) an all-reduce over each node's own cards, V(pairs) one over every two nodes in rounds, V(ring) one
    over the largest good ring, V(training) a short real training.
  - A node that fails a stage is reported with the reason and takes no part in later stages. A bad node never stops the
    others.
  - Nodes and cards are compared with the median of their kind, and with O(baseline) if there is one.
  - O(step=search) only finds which nodes slow down or stop the others, in few measurements. A measurement is an
    all-reduce over a group of nodes, which is as fast as its slowest node. First all nodes run in pairs, then each node
    of a bad pair with a partner from a good one, then once more with another such partner. Groups of a round run in
    parallel, so three rounds are enough for any number of nodes. A node is bad after three bad measurements with
    different partners. A pair that is bad twice, whose nodes are good with others, is a bad link, and neither node is
    blamed. The reference is the median of all pairs, so more than half of them must be good.
  - Run it with C(run_once). It runs on the controller and uses each node's connection and C(become).
options:
  step:
    description:
      - V(qualify) and V(search) measure, as described above.
      - V(keep_baseline) stores every rate of the healthy nodes in O(report) as O(baseline). Later qualifications of the
        same release are compared with it. Figures of nodes that are not healthy are excluded. Nodes of the previous
        baseline that are missing from this one are reported. No node is contacted.
    type: str
    choices: [qualify, search, keep_baseline]
    default: qualify
  hosts:
    description: Inventory names of the nodes. Required with O(step=qualify) and O(step=search).
    type: list
    elements: str
  expected:
    description:
      - Busbw of a good group in GB/s, at the largest of O(sizes). With it, all nodes are measured together first, and
        nothing else if that is good. With O(step=search).
    type: float
    default: 0.0
  level:
    description: As O(gaudi3.scale.hpu_qualify#module:level). It also sets the number of partners for each node.
    type: str
    choices: [quick, full, burn_in]
    default: quick
  stages:
    description: Stages to run.
    type: list
    elements: str
    choices: [self_test, compute, collectives, pairs, ring, training]
    default: [self_test, compute, collectives, pairs, ring, training]
  own:
    description: More options of M(gaudi3.scale.hpu_qualify), for every node.
    type: dict
    default: {}
  follow:
    description: Whether to wait for the nodes' self-tests. Otherwise they are started, and the run ends.
    type: bool
    default: true
  timeout:
    description: "Seconds that the nodes' self-tests may take. V(0): set by the level."
    type: int
    default: 0
  compute:
    description: More arguments of C(gaudi3_scale.compute), such as C(--memory-mib).
    type: list
    elements: str
    default: []
  pair_rounds:
    description: "Number of partners that each node is measured with. V(0): set by the level."
    type: int
    default: 0
  sizes:
    description: All-reduce sizes in bytes, ascending. The largest one counts.
    type: list
    elements: int
    default: [1048576, 268435456]
  seconds:
    description: Approximate seconds per size.
    type: float
    default: 1.0
  tolerance:
    description: Fraction below the median at which a card, a node or a pair is slow, such as 0.15 for 15 %.
    type: float
    default: 0.15
  text:
    description: Files and directories on the nodes for the short training.
    type: list
    elements: str
    default: []
  training_steps:
    description: "Steps of the short training. V(0): set by the level."
    type: int
    default: 0
  group_timeout:
    description:
      - Seconds that the ranks of a group may take once all of them run. Hung ranks are then stopped, and the others
        continue.
      - A timeout alone is not a fault. A node is considered faulty only if others needed at most a quarter of this
        time.
    type: int
    default: 120
  start_timeout:
    description:
      - Seconds for the ranks of a group to start and rendezvous. If their libraries are on slow storage, or the
        controller contacts few nodes at a time, this takes minutes.
    type: int
    default: 300
  baseline:
    description:
      - File that O(step=keep_baseline) writes, on the controller or in a bucket. Optional with O(step=qualify).
    type: str
  report:
    description:
      - JSON report of C(qualify_nodes.yml), on the controller or in a bucket. Required, together with O(baseline), with
        O(step=keep_baseline).
    type: str
  regression:
    description: Fraction below the baseline at which a figure is reported.
    type: float
    default: 0.05
  spares:
    description: Number of healthy nodes to keep as spares.
    type: int
    default: 0
  max_drained_fraction:
    description:
      - "Maximum fraction of the nodes to keep out of service, always at least one node. If more are unhealthy, none is
        kept out, and someone must investigate first. V(0): none."
    type: float
    default: 0.0
  device:
    description: Device that the ranks compute on.
    type: str
    default: hpu
  processes_per_node:
    description: Ranks per node.
    type: int
    default: 8
  rendezvous_port:
    description: Rendezvous port, on the first node of each group.
    type: int
    default: 29540
  job:
    description: More options of M(gaudi3.scale.training_job), such as C(user), C(venv) and C(environment_files).
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Nothing is measured or written. Invalid options are refused.
  diff_mode:
    support: none
    description: No diff, because a file of thousands of figures is not readable as one.
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

- name: Find the nodes that slow the others down
  gaudi3.scale.node_qualification:
    step: search
    hosts: "{{ ansible_play_hosts }}"
  run_once: true
  register: searched

- name: Store the current results as the baseline
  gaudi3.scale.node_qualification:
    step: keep_baseline
    report: gaudi3_scale_reports/qualify_nodes.json
    baseline: gaudi3_scale_reports/qualification_baseline.json
  run_once: true
"""

RETURN = r"""
data:
  description:
    - All results. C(nodes) has each node's C(state) (V(healthy), V(unhealthy) or V(inconclusive)), C(action),
      C(reasons), C(remarks), C(stages) and C(cards); C(pairs) each pair with C(busbw_gb_per_s), C(why), C(round), and
      C(late) if it timed out; C(ring) its C(hosts) and C(busbw_gb_per_s); C(seconds) the duration of each stage.
    - C(hosts), C(spares) and C(left_out), a mapping from node to reason, are for the next job.
  type: dict
  returned: with O(step=qualify)
kept_out:
  description: Unhealthy nodes that stay out of service. Empty if there are too many.
  type: list
  elements: str
  returned: with O(step=qualify)
bad:
  description: Each bad node, with a text about its measurements.
  type: dict
  returned: with O(step=search)
links:
  description: Pairs of nodes that work with others but not with each other.
  type: list
  elements: list
  returned: with O(step=search)
unknown:
  description: Nodes with an inconclusive result, with the reason.
  type: dict
  returned: with O(step=search)
good:
  description: The other nodes, in order.
  type: list
  elements: str
  returned: with O(step=search)
questions:
  description: Number of groups measured.
  type: int
  returned: with O(step=search)
rounds:
  description: Number of rounds.
  type: int
  returned: with O(step=search)
expected:
  description: Busbw of a good group in GB/s.
  type: float
  returned: with O(step=search)
measured:
  description: Each group in order with C(round), C(nodes), and C(busbw_gb_per_s), or C(why) if there is none.
  type: list
  elements: dict
  returned: with O(step=search)
figures:
  description: Number of stored figures.
  type: int
  returned: with O(step=keep_baseline)
nodes:
  description: Nodes with stored figures.
  type: list
  elements: str
  returned: with O(step=keep_baseline)
dropped:
  description: Nodes of the previous baseline that are missing from this one.
  type: list
  elements: str
  returned: with O(step=keep_baseline)
"""
