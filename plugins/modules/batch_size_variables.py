#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: batch_size_variables
short_description: Save the probe's result to a variables file on the controller
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Writes a marked block with the variables C(gaudi_training_batch_size), C(gaudi_training_accumulation_steps) and
    C(gaudi_training_learning_rate), of which those that are not given or 0 are left out. The operator's own lines are
    never changed.
  - Fails with an error message for a file that is encrypted, that sets one of them in a line of the operator's own,
    or that is no file of the controller.
  - Runs on the controller; nothing is sent to the node. Give it C(run_once).
options:
  path:
    description: The file. A relative one is below the directory in which C(ansible-playbook) was started.
    type: str
    required: true
  state:
    description: V(checked) only looks whether the file can take the block.
    type: str
    choices: [checked, present]
    default: present
  heading:
    description: A line of comment for the block.
    type: str
    default: ""
  batch_size:
    description: Windows per rank.
    type: int
  accumulation_steps:
    description: Micro batches of an optimizer step.
    type: int
  learning_rate:
    description: The learning rate.
    type: float
attributes:
  check_mode:
    support: full
    description: Writes nothing.
  diff_mode:
    support: full
    description: Shows the file before and after.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Save the result
  gaudi3.scale.batch_size_variables:
    path: inventories/mine/group_vars/gaudi/batch.yml
    heading: the built-in model on gaudi-01, gaudi-02
    batch_size: 96
  run_once: true
"""

RETURN = r"""
path:
  description: The file.
  type: str
  returned: success
  sample: /srv/site/group_vars/gaudi/batch.yml
"""
