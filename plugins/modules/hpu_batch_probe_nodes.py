#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_batch_probe_nodes
short_description: Find the batch size that all nodes of a job can run, and keep the answer on the controller
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Runs M(gaudi3.scale.hpu_batch_probe) on many nodes. Those that are equal for a probe (cards, driver, flags, versions
    in the venv) are one kind - one node of each kind searches, then the others verify the least that was found.
  - Where the node that searches fails, another one of its kind does. A node without an answer is in RV(failures); it
    fails neither the task nor another node.
  - Shows a line for each trial of each node. Nodes of a round work at the same time, as many as C(forks) says.
  - One task is for all nodes, so give it C(run_once). It runs on the controller, with each node's own connection and
    C(become).
options:
  step:
    description:
      - V(probe) finds the batch size.
      - V(check_file) looks whether O(path) can take the answer. V(write_file) keeps O(found) there, as a marked block
        with the variables C(gaudi_training_batch_size), C(gaudi_training_accumulation_steps) and
        C(gaudi_training_learning_rate). The operator's own lines are never changed. Both fail with one sentence for a
        file that is encrypted, that sets one of the variables in a line of the operator's own, or that is no file of
        the controller; no node is asked.
    type: str
    choices: [probe, check_file, write_file]
    default: probe
  hosts:
    description: Inventory names of the nodes. Required with O(step=probe).
    type: list
    elements: str
  options:
    description:
      - Options of M(gaudi3.scale.hpu_batch_probe) but those for a global batch, alike on all nodes. For an empty one
        the module's own default stands.
    type: dict
    default: {}
  global_batch:
    description:
      - Samples that a step of the optimizer shall have over all ranks. With 0 none is made, and O(step=write_file)
        writes no accumulation steps.
    type: int
    default: 0
  world_size:
    description: The number of ranks of the job that O(global_batch) is for.
    type: int
    default: 1
  learning_rate:
    description: A learning rate to be scaled for O(global_batch); 0 for none.
    type: float
    default: 0.0
  learning_rate_batch:
    description: The global batch that O(learning_rate) was right for.
    type: int
    default: 0
  scaling:
    description: As O(gaudi3.scale.hpu_batch_probe#module:scaling).
    type: str
    choices: [linear, sqrt, none]
    default: linear
  path:
    description:
      - The file on the controller. A relative one is below the directory in which C(ansible-playbook) was started.
        Required with O(step=check_file) and O(step=write_file).
    type: str
  heading:
    description: A line of comment for the block.
    type: str
    default: ""
  found:
    description:
      - What is kept, as RV(found). What is not given or 0 is left out. Required with O(step=write_file).
    type: dict
    suboptions:
      batch_size:
        description: Windows a rank.
        type: int
      accumulation_steps:
        description: Micro batches of an optimizer step.
        type: int
      learning_rate:
        description: The learning rate.
        type: float
attributes:
  check_mode:
    support: partial
    description: Makes no trial, and returns what the nodes know. Writes nothing.
  diff_mode:
    support: full
    description: Shows the answers before and after, or the file.
seealso:
  - module: gaudi3.scale.hpu_batch_probe
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Find the batch size that both nodes can run
  gaudi3.scale.hpu_batch_probe_nodes:
    hosts: [gaudi-01, gaudi-02]
    options:
      maximum: 512
      multiple_of: 8
  run_once: true
  register: probe

- name: Keep the answer
  gaudi3.scale.hpu_batch_probe_nodes:
    step: write_file
    path: inventories/mine/group_vars/gaudi/batch.yml
    heading: the built-in model on gaudi-01, gaudi-02
    found: "{{ probe.found }}"
  run_once: true
"""

RETURN = r"""
batch_size:
  description: What all nodes that have an answer can run. Null where none has.
  type: int
  returned: with O(step=probe)
  sample: 96
global_batch:
  description: How to make the wanted global batch, as RV(gaudi3.scale.hpu_batch_probe#module:global_batch), or null.
  type: dict
  returned: with O(step=probe)
found:
  description:
    - V(batch_size), V(accumulation_steps) and V(learning_rate) that a launch takes - those of RV(global_batch), or
      RV(batch_size), 1 and null.
  type: dict
  returned: with O(step=probe)
  sample: {batch_size: 96, accumulation_steps: 1, learning_rate: null}
failures:
  description: A sentence for each node without an answer.
  type: dict
  returned: with O(step=probe)
  sample: {gaudi-02: "cannot be reached: No route to host"}
notes:
  description: What a person should know beside that.
  type: list
  elements: str
  returned: with O(step=probe)
results:
  description: By node what M(gaudi3.scale.hpu_batch_probe) returned there last.
  type: dict
  returned: with O(step=probe)
path:
  description: The file.
  type: str
  returned: with O(step=check_file) and O(step=write_file)
  sample: /srv/site/group_vars/gaudi/batch.yml
"""
