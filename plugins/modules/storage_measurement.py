#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: storage_measurement
short_description: Measure a directory's combined throughput for all nodes, and whether it is enough for a training job
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Runs M(gaudi3.scale.storage_rates) on all O(hosts) in parallel, regardless of Ansible's forks - first a sequential
    write, as for a checkpoint, then a sequential read of these files, then random reads of O(read_bytes), as for
    training data.
  - With O(tokens_per_second), or the O(job) that has reported them, checks whether the cards can be fed. With
    O(parameters), calculates the time of a checkpoint, and with O(checkpoint_interval) checks whether that is short
    enough. Without them it reports what the storage could support.
  - A node that fails in a phase is reported and takes no part in later phases. The files are removed at the end.
  - Reads may be answered from a server's memory, which no client option prevents. They are not if O(size) times
    O(files) times the number of nodes exceeds that memory.
  - Run it with C(run_once). It runs on the controller and uses each node's connection and C(become).
options:
  hosts:
    description: Inventory names of the nodes, at most 128.
    type: list
    elements: str
    required: true
  directory:
    description: Directory, the same on all nodes.
    type: str
    required: true
  files:
    description: Files per node, each written and read by a separate process. Use as many as ranks per node.
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
    description: Size of a random read, for example that of a window of training data.
    type: str
    default: 128K
  seconds:
    description: Seconds per phase.
    type: int
    default: 15
  user:
    description: Account that writes and reads.
    type: str
    default: gaudi
  install:
    description: Whether to install the distribution's package C(fio) if missing.
    type: bool
    default: true
  tokens_per_second:
    description: "Required tokens per second of the whole job. V(0): no requirement."
    type: float
    default: 0.0
  bytes_per_token:
    description: Bytes per token in the files.
    type: float
    default: 4.0
  job:
    description: Training job whose last tokens/s are used instead of O(tokens_per_second).
    type: str
    default: ""
  parameters:
    description: "Parameters of the model whose checkpoints are written. V(0): no requirement."
    type: float
    default: 0.0
  bytes_per_parameter:
    description: Bytes per parameter in a checkpoint. Weights and both moments of Adam in float32 are 12.
    type: float
    default: 12.0
  checkpoint_interval:
    description: "Seconds between checkpoints. V(0): no requirement."
    type: float
    default: 0.0
attributes:
  check_mode:
    support: full
    description: Measures nothing.
  diff_mode:
    support: none
    description: Changes no files of the operator.
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
    - Results of each node for V(write), V(read) and V(random_read), with C(bytes_per_s), C(iops), C(p99_s), C(seconds),
      C(written) and C(file_system).
  type: dict
  returned: success
failed_nodes:
  description: One error message for each node that could not be measured.
  type: dict
  returned: success
needs:
  description: Requirements that were given.
  type: dict
  returned: success
figures:
  description: C(tokens_per_second_fed), C(tokens_per_second_needed), C(checkpoint_seconds) and C(checkpoint_interval).
  type: dict
  returned: success
says:
  description: Summary of what the storage supports.
  type: list
  elements: str
  returned: success
missed:
  description: Requirements that the storage does not meet.
  type: list
  elements: str
  returned: success
"""
