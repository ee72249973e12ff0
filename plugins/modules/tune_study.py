#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: tune_study
short_description: Check a tuning study, and find out which of its nodes keeps it
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Runs on the controller; nothing is sent to the node. Give it C(run_once).
options:
  step:
    description:
      - V(plan) fails with one sentence for the first invalid value of O(study), before any node is touched.
      - V(nodes) reads what the role C(gaudi3.scale.gaudi_tune) has registered for each of O(hosts). The study stays on
        the node that has it. A new one is kept on the first of O(hosts) that is still in the play.
    type: str
    required: true
    choices: [plan, nodes]
  study:
    description:
      - The values of the study, as the role C(gaudi3.scale.gaudi_tune) makes them of its options. Required with
        O(step=plan).
    type: dict
  with_text:
    description: Whether to return RV(text). Give the task C(no_log), since the environment may have a secret in it.
    type: bool
    default: false
  name:
    description: Name of the study. Required with O(step=nodes).
    type: str
  hosts:
    description: The nodes of the study, in its order. Required with O(step=nodes).
    type: list
    elements: str
  storage:
    description: A storage of the site's own; when empty the node that keeps the study serves it.
    type: str
    default: ""
  port:
    description: Port of that node.
    type: int
    default: 29510
  directory:
    description: Directory on the nodes with what only the study's account reads. Required with O(step=nodes).
    type: str
attributes:
  check_mode:
    support: full
    description: Does the same, since it changes nothing.
  diff_mode:
    support: none
    description: Nothing is changed.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Check the study
  gaudi3.scale.tune_study:
    step: plan
    study: "{{ my_study }}"
  run_once: true
  register: planned

- name: Choose the node that keeps the study
  gaudi3.scale.tune_study:
    step: nodes
    name: llama
    hosts: [node1, node2]
    directory: /etc/gaudi3_scale/tune/llama
  run_once: true
  register: nodes
"""

RETURN = r"""
flag_sets:
  description: Mappings that together have each value of each flag.
  type: list
  elements: dict
  returned: with O(step=plan)
  sample: [{PT_HPU_LAZY_MODE: "1"}, {PT_HPU_LAZY_MODE: "0"}]
digest:
  description: Names the study in the description of its job.
  type: str
  returned: with O(step=plan)
  sample: 5f0c4d1a9be37c62
seconds:
  description: The most that the study can take, where one node makes all trials and each twice.
  type: float
  returned: with O(step=plan)
  sample: 72000.0
text:
  description: The study's file for the nodes.
  type: str
  returned: with O(with_text)
keeper:
  description: The node that keeps the study, or whose progress is shown; empty where no node is left.
  type: str
  returned: with O(step=nodes)
  sample: node1
serving:
  description: The same, but empty with a O(storage) of the site's own.
  type: str
  returned: with O(step=nodes)
  sample: node1
address:
  description: Address of that node.
  type: str
  returned: with O(step=nodes)
  sample: 192.0.2.1
where:
  description: Where the study is kept, without what may be secret.
  type: str
  returned: with O(step=nodes)
  sample: grpc://192.0.2.1:29510
access:
  description: Arguments by which a node finds the study.
  type: list
  elements: str
  returned: with O(step=nodes)
  sample: [--credentials, /etc/gaudi3_scale/tune/llama]
absent:
  description: From a node that did not work to the end to the reason.
  type: dict
  returned: with O(step=nodes)
  sample: {}
refusal:
  description: A sentence where the node that has the study does not answer; else empty.
  type: str
  returned: with O(step=nodes)
  sample: ""
"""
