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
  - Builds the trainer's arguments for torchrun from the training options. Also returns the options of the probe's
    built-in language model, which uses the same memory.
  - Fails if there is nothing to train on, or if O(user) cannot read the manifest of O(data).
  - Runs on the controller. With O(data) it reads the manifest as O(user), on the first of O(hosts) that is still in the
    play; all hosts have the same manifest. Changes nothing. Run it with C(run_once).
options:
  text:
    description: Files and directories with text, present on every host.
    type: list
    elements: str
    default: []
  text_upload:
    description: File or directory on the controller to copy to the first path of O(text).
    type: str
    default: ""
  data:
    description:
      - Use prepared data instead of O(text). Path on every host of the two data files, without C(.bin) and C(.idx), as
        made by C(gaudi3_scale data prepare) or Megatron-LM.
    type: str
    default: ""
  max_steps:
    description: Optimizer steps.
    type: int
    default: 200
  device:
    description: Device that the ranks compute on, V(hpu) or V(cpu).
    type: str
    default: hpu
  precision:
    description: "V(bf16) or V(fp32). Empty: V(bf16), or V(fp32) on a CPU."
    type: str
    choices: ["", bf16, fp32]
    default: ""
  model:
    description:
      - Model dimensions C(layers), C(width), C(heads) and C(sequence_length) that differ from the defaults 4, 256, 4
        and 256.
    type: dict
    default: {}
  batch_size:
    description: Windows per rank and micro batch. V(0) does not pass it.
    type: int
    default: 0
  accumulation_steps:
    description: Micro batches per optimizer step.
    type: int
    default: 1
  learning_rate:
    description: "Learning rate. V(0): the trainer's default."
    type: float
    default: 0.0
  arguments:
    description: More trainer arguments. They override all others.
    type: list
    elements: str
    default: []
  is_probed:
    description: Whether to fail if the probe cannot find a batch size for what O(arguments) ask for.
    type: bool
    default: false
  processes:
    description: Ranks per probe trial, each with a copy of the model.
    type: int
    default: 1
  needs_data:
    description: Whether to fail without O(text) and O(data). A probe of the model alone needs neither.
    type: bool
    default: true
  user:
    description: Account that runs the job.
    type: str
    default: gaudi
  hosts:
    description: "Hosts to read the manifest of O(data) from. The first one still in the play is used. Empty: none."
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
    description: Runs as usual; it changes nothing.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
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
  description: Interpreter arguments of the trainer, one list item per argument.
  type: list
  elements: str
  returned: success
  sample: [-m, gaudi3_scale.train, --text, /srv/text, --max-steps, "1000"]
model:
  description: All model dimensions.
  type: dict
  returned: success
  sample: {layers: 4, width: 256, heads: 4, sequence_length: 256}
precision:
  description: Precision in use.
  type: str
  returned: success
  sample: bf16
probe_options:
  description: O(gaudi3.scale.hpu_batch_probe#module:workload_options) for the built-in language model.
  type: dict
  returned: success
  sample: {layers: 4, width: 256, heads: 4, sequence_length: 256, precision: bf16}
"""
