#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: built_in_trainer
short_description: Build the built-in trainer's command line and the batch-size probe's workload
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Makes the words that torchrun starts of what the operator says of the training, and the options of the probe's
    built-in language model that takes as much memory.
  - Fails with an error message where there is nothing to train on, and where O(data) has no manifest that O(user) can
    read.
  - Runs on the controller. With O(data) it reads the manifest on the first of O(hosts) that is still in the play, as
    O(user); all hosts have the same. Changes nothing. Give it C(run_once).
options:
  text:
    description: Files and directories with text, on every host.
    type: list
    elements: str
    default: []
  text_upload:
    description: A file or directory on the controller that is copied to the first of O(text).
    type: str
    default: ""
  data:
    description:
      - Instead of O(text), the path of two files on every host without their C(.bin) and C(.idx), which
        C(gaudi3_scale data prepare) or Megatron-LM made.
    type: str
    default: ""
  max_steps:
    description: Optimizer steps.
    type: int
    default: 200
  device:
    description: What the ranks compute on, V(hpu) or V(cpu).
    type: str
    default: hpu
  precision:
    description: V(bf16) or V(fp32). When empty V(bf16), on a CPU V(fp32).
    type: str
    choices: ["", bf16, fp32]
    default: ""
  model:
    description: C(layers), C(width), C(heads) and C(sequence_length) as far as they differ from 4, 256, 4 and 256.
    type: dict
    default: {}
  batch_size:
    description: Windows per rank and micro batch. With 0 it is not passed.
    type: int
    default: 0
  accumulation_steps:
    description: Micro batches of an optimizer step.
    type: int
    default: 1
  learning_rate:
    description: With 0 the trainer's own.
    type: float
    default: 0.0
  arguments:
    description: Further words, which win over all others.
    type: list
    elements: str
    default: []
  is_probed:
    description: Whether to fail where the probe cannot find the batch size of what O(arguments) ask for.
    type: bool
    default: false
  processes:
    description: Ranks of a trial of the probe, each with a copy of the model.
    type: int
    default: 1
  needs_data:
    description: Whether to fail without O(text) and O(data). The probe of a model alone needs neither.
    type: bool
    default: true
  user:
    description: The account that the job runs as.
    type: str
    default: gaudi
  hosts:
    description:
      - Hosts of which the first that is still in the play is asked for the manifest in O(data). None is when empty.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
    description: Does the same, since it changes nothing.
  diff_mode:
    support: none
    description: Nothing is changed.
seealso:
  - module: gaudi3.scale.hpu_batch_probe
  - module: gaudi3.scale.training_job
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Build the trainer's command line
  gaudi3.scale.built_in_trainer:
    text: [/srv/text]
    max_steps: 1000
  run_once: true
  register: trainer
"""

RETURN = r"""
command:
  description: Interpreter arguments of the trainer, one word per item.
  type: list
  elements: str
  returned: success
  sample: [-m, gaudi3_scale.train, --text, /srv/text, --max-steps, "1000"]
model:
  description: The whole model.
  type: dict
  returned: success
  sample: {layers: 4, width: 256, heads: 4, sequence_length: 256}
precision:
  description: The precision that is used.
  type: str
  returned: success
  sample: bf16
probe_options:
  description: O(gaudi3.scale.hpu_batch_probe#module:workload_options) for the built-in language model.
  type: dict
  returned: success
  sample: {layers: 4, width: 256, heads: 4, sequence_length: 256, precision: bf16}
"""
