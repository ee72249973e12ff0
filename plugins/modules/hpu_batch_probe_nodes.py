#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_batch_probe_nodes
short_description: Find the batch size that all nodes of a job can run, and store the answer on the controller
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Runs M(gaudi3.scale.hpu_batch_probe) on many nodes. Nodes with equal cards, driver, flags and venv versions are one
    kind. One node of each kind searches, then the others verify the smallest size that was found.
  - If the searching node fails, another of its kind searches. RV(failures) lists nodes without an answer; they fail
    neither the task nor other nodes.
  - Shows a line for each trial of each node. Up to C(forks) nodes of a round run in parallel.
  - One task covers all nodes, so run it with C(run_once). It runs on the controller and uses each node's connection and
    C(become).
options:
  step:
    description:
      - V(probe) finds the batch size.
      - V(check_file) checks whether O(path) can take the answer. V(write_file) stores O(found) there, in a marked block
        with the variables C(gaudi_training_batch_size), C(gaudi_training_accumulation_steps) and
        C(gaudi_training_learning_rate). Lines outside the block are never changed. Both fail if the file is encrypted,
        sets one of the variables outside the block, or is not a file on the controller; they contact no node.
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
      - "Samples per optimizer step over all ranks. V(0): none, and O(step=write_file) writes no accumulation steps."
    type: int
    default: 0
  world_size:
    description: World size of the job that O(global_batch) is for.
    type: int
    default: 1
  learning_rate:
    description: "Learning rate to scale for O(global_batch). V(0): none."
    type: float
    default: 0.0
  learning_rate_batch:
    description: Global batch that O(learning_rate) was tuned for.
    type: int
    default: 0
  scaling:
    description: As O(gaudi3.scale.hpu_batch_probe#module:scaling).
    type: str
    choices: [linear, sqrt, none]
    default: linear
  path:
    description:
      - File on the controller. A relative path starts at the directory in which C(ansible-playbook) was started.
        Required with O(step=check_file) and O(step=write_file).
    type: str
  heading:
    description: Comment line for the block.
    type: str
    default: ""
  found:
    description: Values to store, as in RV(found). Missing values and 0 are omitted. Required with O(step=write_file).
    type: dict
    suboptions:
      batch_size:
        description: Windows per rank.
        type: int
      accumulation_steps:
        description: Micro batches per optimizer step.
        type: int
      learning_rate:
        description: The learning rate.
        type: float
attributes:
  check_mode:
    support: partial
    description: Runs no trial and writes nothing. Returns the answers that the nodes have stored.
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

- name: Store the answer
  gaudi3.scale.hpu_batch_probe_nodes:
    step: write_file
    path: inventories/mine/group_vars/gaudi/batch.yml
    heading: the built-in model on gaudi-01, gaudi-02
    found: "{{ probe.found }}"
  run_once: true
"""

RETURN = r"""
batch_size:
  description: Batch size that all nodes with an answer can run. Null if none has one.
  type: int
  returned: with O(step=probe)
  sample: 96
global_batch:
  description: Settings for the global batch, as RV(gaudi3.scale.hpu_batch_probe#module:global_batch), or null.
  type: dict
  returned: with O(step=probe)
found:
  description:
    - V(batch_size), V(accumulation_steps) and V(learning_rate) for a launch - those of RV(global_batch), or
      RV(batch_size), 1 and null.
  type: dict
  returned: with O(step=probe)
  sample: {batch_size: 96, accumulation_steps: 1, learning_rate: null}
failures:
  description: One error message for each node without an answer.
  type: dict
  returned: with O(step=probe)
  sample: {gaudi-02: "cannot be reached: No route to host"}
notes:
  description: Other notes for the operator.
  type: list
  elements: str
  returned: with O(step=probe)
results:
  description: Last result of M(gaudi3.scale.hpu_batch_probe), by node.
  type: dict
  returned: with O(step=probe)
path:
  description: The file.
  type: str
  returned: with O(step=check_file) and O(step=write_file)
  sample: /srv/site/group_vars/gaudi/batch.yml
"""
