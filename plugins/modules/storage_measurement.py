#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: storage_measurement
short_description: Measure a directory's combined rate for all nodes, and whether it is enough for a training
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Runs M(gaudi3.scale.storage_rates) on all of O(hosts) at the same time, whatever Ansible's forks are - first a
    sequential write, as of a checkpoint, then a sequential read of what was written, then reads of O(read_bytes) at
    random places, as training data is read.
  - With O(tokens_per_second), or the O(job) that has reported them, says whether the cards can be fed; with
    O(parameters), how long a checkpoint takes, and with O(checkpoint_interval) whether that is short enough. Without
    them it says what the storage would do.
  - A node that fails in a phase is named, and in none that follows. The files are removed at the end.
  - Reads may be answered by the memory of a server, which no option of a client prevents; with O(size) times O(files)
    times the number of nodes above that memory they are not.
  - Give it C(run_once). It runs on the controller, with each node's own connection and C(become).
options:
  hosts:
    description: Inventory names of the nodes, 128 at most.
    type: list
    elements: str
    required: true
  directory:
    description: The directory, the same on all nodes.
    type: str
    required: true
  files:
    description: Files of each node, each written and read by a process of its own; as many as the node has ranks.
    type: int
    default: 8
  size:
    description: Size of each file.
    type: str
    default: 1G
  block:
    description: Size of a sequential request.
    type: str
    default: 1M
  read_bytes:
    description: Size of a request at a random place, such as that of a window of training data.
    type: str
    default: 128K
  seconds:
    description: Seconds of each phase.
    type: int
    default: 15
  user:
    description: The account that writes and reads.
    type: str
    default: gaudi
  install:
    description: Whether to install the distribution's package C(fio) where it is missing.
    type: bool
    default: true
  tokens_per_second:
    description: What the whole job takes in. V(0) asks for nothing.
    type: float
    default: 0.0
  bytes_per_token:
    description: Bytes that a token has in the files.
    type: float
    default: 4.0
  job:
    description: The training job whose last tokens/s are to be fed, in place of O(tokens_per_second).
    type: str
    default: ""
  parameters:
    description: Parameters of the model whose checkpoints are written. V(0) asks for nothing.
    type: float
    default: 0.0
  bytes_per_parameter:
    description: Bytes that a parameter has in a checkpoint. Weights and both moments of Adam in float32 are 12.
    type: float
    default: 12.0
  checkpoint_interval:
    description: Seconds between two checkpoints. V(0) asks for nothing.
    type: float
    default: 0.0
attributes:
  check_mode:
    support: full
    description: Nothing is measured.
  diff_mode:
    support: none
    description: Nothing of the operator's is changed.
seealso:
  - module: gaudi3.scale.storage_rates
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Check the storage for two million tokens per second and a checkpoint of 70 billion parameters every half hour
  gaudi3.scale.storage_measurement:
    hosts: "{{ ansible_play_hosts }}"
    directory: /mnt/datasets
    tokens_per_second: 2000000
    parameters: 70000000000
    checkpoint_interval: 1800
  run_once: true
  register: measured
"""

RETURN = r"""
rates:
  description:
    - For V(write), V(read) and V(random_read) what each node measured, C(bytes_per_s), C(iops), C(p99_s), C(seconds),
      C(written) and C(file_system).
  type: dict
  returned: success
failed_nodes:
  description: One sentence for each node that could not be measured.
  type: dict
  returned: success
needs:
  description: What was asked for.
  type: dict
  returned: success
figures:
  description: C(tokens_per_second_fed), C(tokens_per_second_needed), C(checkpoint_seconds) and C(checkpoint_interval).
  type: dict
  returned: success
says:
  description: What the storage does, in sentences.
  type: list
  elements: str
  returned: success
missed:
  description: What it does not do and should.
  type: list
  elements: str
  returned: success
"""
