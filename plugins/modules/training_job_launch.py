#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: training_job_launch
short_description: Start a training job all-or-nothing on its nodes
version_added: "1.0.0"
description:
  - Runs M(gaudi3.scale.training_job) on all nodes of a job in parallel. First each node is checked for what the job
    needs (O(gaudi3.scale.training_job#module:state=prepared)); then the job is started on the nodes that pass.
  - A node that does not respond, or cannot take part, is excluded and reported if the others are enough. If they are
    not, the job is started on none. Clocks more than a minute apart are refused.
  - If some nodes already run the job, the others join the run. A job that runs or has succeeded on all nodes is left
    alone.
  - If some nodes cannot start, the job is stopped again on those that did, except a Slurm job.
  - One task starts the job on all nodes, so run it with C(run_once). It runs on the controller, uses each node's
    connection and C(become), and works on up to C(forks) nodes in parallel.
options:
  name:
    description: Name of the job.
    type: str
    required: true
  hosts:
    description: Inventory names of all nodes of the job in rank order.
    type: list
    elements: str
    required: true
  state:
    description:
      - V(started) starts the job. V(looked_at) only checks which nodes respond, before long preparations.
      - V(known) contacts no node. It fails with similar job names if none of O(answers) knows the job.
    type: str
    choices: [known, looked_at, started]
    default: started
  engine:
    description: As O(gaudi3.scale.training_job#module:engine).
    type: str
    default: torchrun
  supervision:
    description:
      - As O(gaudi3.scale.training_job#module:supervision), with the spares and the witness by their inventory names.
        For O(engine=torchrun) only.
    type: dict
  options:
    description:
      - Every other option of M(gaudi3.scale.training_job) that describes the job, alike on all nodes. For an empty one
        the module's own default stands.
    type: dict
    default: {}
  left_out:
    description: Nodes known to be unavailable, and why. They are not contacted.
    type: dict
    default: {}
  answers:
    description: Result of M(gaudi3.scale.training_job) on each node with C(state=stopped), for O(state=known).
    type: dict
    default: {}
  answer_timeout:
    description: Seconds after which a node that has not answered a query is given up.
    type: int
    default: 600
attributes:
  check_mode:
    support: full
    description: Queries each node, and returns what would be run there.
  diff_mode:
    support: full
    description: Shows the files that change on each node.
seealso:
  - module: gaudi3.scale.training_job
  - module: gaudi3.scale.training_job_follow
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Start the job
  gaudi3.scale.training_job_launch:
    name: llama
    hosts: [gaudi-01, gaudi-02]
    supervision:
      spares: [gaudi-03]
    options:
      processes_per_node: 8
      rendezvous_address: 192.0.2.11
      command: [/srv/train.py, --max-steps, "1000"]
  run_once: true
"""

RETURN = r"""
start:
  description: Nodes that the job was started on, or runs on, first the one with the most complete information.
  type: list
  elements: str
  returned: success
  sample: [gaudi-01, gaudi-02]
left_out:
  description: Excluded nodes, and why.
  type: dict
  returned: success
  sample: {gaudi-03: "it does not answer: No route to host"}
launches:
  description: What is run on each node, or would be, as RV(gaudi3.scale.training_job#module:launch) without secrets.
  type: dict
  returned: with O(state=started)
"""
