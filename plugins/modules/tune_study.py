#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: tune_study
short_description: Validate a tuning study, and find the node that hosts it
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Runs on the controller and contacts no node. Run it with C(run_once).
options:
  step:
    description:
      - V(plan) fails with an error message for the first invalid value of O(study), before any node is changed.
      - V(nodes) reads what the role C(gaudi3.scale.gaudi_tune) has registered for each of O(hosts). The study stays on
        the node that has it. A new study is stored on the first of O(hosts) that is still in the play.
    type: str
    required: true
    choices: [plan, nodes]
  study:
    description:
      - Values of the study, as the role C(gaudi3.scale.gaudi_tune) builds them from its options. Required with
        O(step=plan).
    type: dict
  with_text:
    description: Whether to return RV(text). Use C(no_log) for the task, because the environment may contain a secret.
    type: bool
    default: false
  name:
    description: Name of the study. Required with O(step=nodes).
    type: str
  hosts:
    description: Nodes of the study, in order. Required with O(step=nodes).
    type: list
    elements: str
  storage:
    description: "External storage of the site. Empty: served by the node that hosts the study."
    type: str
    default: ""
  port:
    description: Port on that node.
    type: int
    default: 29510
  directory:
    description: Directory on the nodes for files that only the study's account can read. Required with O(step=nodes).
    type: str
attributes:
  check_mode:
    support: full
    description: Runs as usual; it changes nothing.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Check the study
  gaudi3.scale.tune_study:
    step: plan
    study: "{{ my_study }}"
  run_once: true
  register: planned

- name: Choose the node that hosts the study
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
  description: Mappings that together contain each value of each flag.
  type: list
  elements: dict
  returned: with O(step=plan)
  sample: [{PT_HPU_LAZY_MODE: "1"}, {PT_HPU_LAZY_MODE: "0"}]
digest:
  description: Identifies the study in the description of its job.
  type: str
  returned: with O(step=plan)
  sample: 5f0c4d1a9be37c62
seconds:
  description: Maximum duration of the study in seconds, if one node runs all trials and each twice.
  type: float
  returned: with O(step=plan)
  sample: 72000.0
text:
  description: Study file for the nodes.
  type: str
  returned: with O(with_text)
keeper:
  description: Node that hosts the study, or whose progress is shown. Empty if no node is left.
  type: str
  returned: with O(step=nodes)
  sample: node1
serving:
  description: Same as RV(keeper), but empty with an external O(storage).
  type: str
  returned: with O(step=nodes)
  sample: node1
address:
  description: Address of that node.
  type: str
  returned: with O(step=nodes)
  sample: 192.0.2.1
where:
  description: Location of the study, without secrets.
  type: str
  returned: with O(step=nodes)
  sample: grpc://192.0.2.1:29510
access:
  description: Arguments with which a node finds the study.
  type: list
  elements: str
  returned: with O(step=nodes)
  sample: [--credentials, /etc/gaudi3_scale/tune/llama]
absent:
  description: Nodes that did not finish, as a mapping from node to reason.
  type: dict
  returned: with O(step=nodes)
  sample: {}
refusal:
  description: "Error message if the node that has the study does not respond. Empty: none."
  type: str
  returned: with O(step=nodes)
  sample: ""
"""
