#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: training_benchmark
short_description: Measure workloads over batch sizes and numbers of nodes, repeatedly, with a history
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Runs each workload with each of its batch sizes on each number of O(nodes), O(repeats) times, in an order that
    varies. Each run is the job C(benchmark), and all nodes of O(hosts) are for it alone.
  - A run counts from the first metric line after O(warm_up) from which on it is steady (O(spread)) to its end. The rate
    is the work of these steps over their whole time.
  - Figures are refused, each with the reason, if a run failed, was not steady, had another number of ranks or another
    precision than its row.
  - Each figure is appended to O(history) with what it was measured with. Steps in the history are reported with what
    changed there.
  - Run it with C(run_once). It runs on the controller and uses each node's connection and C(become).
options:
  hosts:
    description: Inventory names of the nodes, in rank order.
    type: list
    elements: str
    required: true
  workloads:
    description:
      - List of workloads, each with C(name), one of C(size), C(model) and C(command), and optionally C(batch_sizes),
        C(precision) and C(arguments).
    type: raw
    required: true
  batch_sizes:
    description: Samples per rank and step, for workloads without C(batch_sizes).
    type: list
    elements: int
    default: [16]
  nodes:
    description: Numbers of nodes. Each is measured on the first of O(hosts).
    type: list
    elements: int
    default: [1]
  repeats:
    description: Runs of each row, at least 2.
    type: int
    default: 5
  steps:
    description: Steps of a run.
    type: int
    default: 100
  warm_up:
    description: First steps of a run, which never count.
    type: int
    default: 10
  spread:
    description: How much metric lines may vary and drift in the steady state, as a fraction.
    type: float
    default: 0.1
  confidence:
    description: Confidence level of each interval.
    type: float
    default: 0.95
  device:
    description: Device that the ranks compute on.
    type: str
    default: hpu
  precision:
    description: "Precision of workloads without one. Empty: that of the device."
    type: str
    default: ""
  text:
    description: Files and directories of the nodes that the built-in trainer reads.
    type: list
    elements: str
    default: []
  data:
    description: Tokens to read instead of O(text), as the prefix of their files.
    type: str
    default: ""
  processes_per_node:
    description: Ranks per node.
    type: int
    default: 8
  rendezvous_port:
    description: Rendezvous port, on the first node.
    type: int
    default: 29500
  timeout:
    description: Seconds for the ranks of a run to start, and the same again once all of them run.
    type: int
    default: 1800
  environment:
    description: Environment variables of the ranks.
    type: dict
    default: {}
  history:
    description: "File of the controller with the history. Empty: none."
    type: str
    default: ""
  baseline:
    description: Content of an earlier benchmark's JSON. What is slower now is reported.
    type: raw
  baseline_file:
    description: Source of O(baseline), for messages.
    type: str
    default: the baseline
  tolerance:
    description: Fraction by which a rate may be below O(baseline).
    type: float
    default: 0.05
  job:
    description: More options of M(gaudi3.scale.training_job), such as C(user), C(venv) and C(environment_files).
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Validates the options and runs nothing.
  diff_mode:
    support: none
    description: Changes nothing on a node except the logs of the job C(benchmark).
seealso:
  - module: gaudi3.scale.training_job
  - module: gaudi3.scale.hpu_compare_settings
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Measure two sizes on one node and on four
  gaudi3.scale.training_benchmark:
    hosts: [node1, node2, node3, node4]
    nodes: [1, 4]
    workloads:
      - {name: small, size: small}
      - {name: medium, size: medium, batch_sizes: [4, 8]}
    text: [/opt/gaudi3_scale/venv/bin]
    history: /srv/benchmarks/history.jsonl
  run_once: true
  register: gaudi_benchmark_result
"""

RETURN = r"""
figures:
  description: One figure per row.
  type: list
  elements: dict
  returned: success
  contains:
    case:
      description: What was measured, with C(workload), C(definition), C(precision), C(batch_size), C(nodes),
        C(processes) and C(device).
      type: dict
    label:
      description: The same in words.
      type: str
    unit:
      description: V(tokens_per_second) or V(samples_per_second).
      type: str
    rates:
      description: Rate of all ranks, by run.
      type: list
      elements: float
    rate:
      description: Their geometric mean, with C(estimate), C(low), C(high) and C(level).
      type: dict
    efficiency:
      description: Rate per node relative to the row with the fewest nodes, with the same keys. V(null) for that row.
      type: dict
    steps:
      description: Steps that counted, by run.
      type: list
      elements: str
    memory_bytes:
      description: Peak memory of the fullest rank.
      type: int
    why:
      description: Why there is no figure.
      type: str
    key:
      description: What it was measured with, as in the history.
      type: dict
history:
  description: For each figure C(case), C(entries) (pairs of a time and its rates) and C(steps), each with C(time),
    C(position), C(speed) and C(cause).
  type: list
  elements: dict
  returned: success
history_file:
  description: As O(history).
  type: str
  returned: success
changes:
  description: Speed relative to O(baseline), with C(label) and C(speed).
  type: list
  elements: dict
  returned: success
regressions:
  description: One message for each rate that is lower by more than O(tolerance) and beyond noise.
  type: list
  elements: str
  returned: success
remarks:
  description: Other remarks for the operator.
  type: list
  elements: str
  returned: success
method:
  description: O(repeats), O(steps), O(warm_up), O(spread) and O(confidence).
  type: dict
  returned: success
"""
