#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: hpu_batch_probe
short_description: Find the largest batch size that trains on a card of this node
version_added: "0.1.0"
description:
  - Runs a few real training steps at one batch size after another, each in a fresh process in the training venv, and
    returns the largest size that ran and left a margin of memory free. A size that was not tried is never returned.
  - The next size comes from the peaks that were measured, where the memory's limit is known; else from doubling and
    halving.
  - Running out of memory is told apart from a crash, from a trial that does not end, and from a workload that cannot be
    run. Each of the last three ends the search with an error.
  - The answer is kept on the node and returned without a trial as long as the question, the environment files and the
    versions in the venv are the same. A change in the workload's own code is not noticed; use O(refresh) then.
options:
  workload:
    description:
      - Importable C(module:function) in the training venv. It is called as C(function(batch_size=..., device=...,
        **options)) and returns a function without arguments that does one training step.
    type: str
    default: gaudi3_scale.workloads:causal_language_model
  workload_options:
    description: Further arguments of the function.
    type: dict
    default: {}
  maximum:
    description: The largest size to try.
    type: int
    default: 1024
  minimum:
    description: The smallest size to try.
    type: int
    default: 1
  multiple_of:
    description: Try only multiples of this.
    type: int
    default: 1
  margin:
    description:
      - The part of the memory that stays free, of what is left for the batch beside parameters and optimiser state.
      - More stays free where the steps of a trial differ in their peaks.
    type: float
    default: 0.01
  utilisation:
    description: The part of the memory that may be used at all.
    type: float
    default: 1.0
  steps:
    description: Training steps a trial.
    type: int
    default: 3
  timeout:
    description: Seconds after which a trial is ended and called a hang. The first step on a card compiles its graph.
    type: int
    default: 900
  memory_limit:
    description:
      - How much memory a trial may take when O(device=cpu), where it stands for the memory of a card.
      - Bytes, or a number with KiB, MiB or GiB.
    type: str
  device:
    description: What to train on.
    type: str
    choices: [hpu, cuda, cpu]
    default: hpu
  venv:
    description: The virtual environment with PyTorch and the node library.
    type: path
    default: /opt/gaudi3_scale/venv
  environment_files:
    description: Files of variables that the job will have, too. One with a C(-) before its path may be missing.
    type: list
    elements: str
    default: ["-/etc/gaudi3_scale/environment"]
  refresh:
    description: Probe even if the answer is known.
    type: bool
    default: false
  state_directory:
    description: Directory below which answers are kept, as C(probe/<key>.json).
    type: path
    default: /var/lib/gaudi3_scale
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: partial
    description: Makes no trial.
    details: Returns a known answer. An unknown one is not probed for; RV(batch_size) is then V(null).
  diff_mode:
    support: none
    description: The answer is in the return values.
notes:
  - A trial takes the whole card, so nothing else may use the cards meanwhile.
"""

EXAMPLES = r"""
- name: Find the batch size of the built-in model
  gaudi3.scale.hpu_batch_probe:
    workload_options:
      sequence_length: 1024
    multiple_of: 8
  register: probe
  become: true

- name: Find that of an own workload
  gaudi3.scale.hpu_batch_probe:
    workload: my_project.probe:step
    maximum: 256
  become: true
"""

RETURN = r"""
batch_size:
  description: The largest size that ran. V(null) in check mode when it is not known.
  returned: success
  type: int
  sample: 96
certified:
  description: Whether no larger size is possible with the margin; see RV(why).
  returned: success
  type: bool
within:
  description: The part of the true limit by which RV(batch_size) may be below it. V(null) where it is not known.
  returned: success
  type: float
  sample: 0.012
why:
  description: What RV(certified) and RV(within) rest on.
  returned: success
  type: str
  sample: 104 is out by the measured growth of the peak
trials:
  description: All trials in their order; also of those before an error.
  returned: always
  type: list
  elements: dict
  contains:
    batch_size:
      description: The size.
      type: int
    outcome:
      description: V(ok), V(out_of_memory), V(crash), V(hang) or V(workload_error).
      type: str
    peak_memory_bytes:
      description: Most memory in use. V(null) where it was not measured.
      type: int
    resting_memory_bytes:
      description: In use between two steps. V(null) where it was not measured.
      type: int
    peak_spread_bytes:
      description: How far the peaks of the steps lie apart. V(null) where it was not measured.
      type: int
    limit_bytes:
      description: The memory that the device had for the trial. V(null) where it was not told.
      type: int
    step_seconds:
      description: Median time of a step after the first.
      type: float
    message:
      description: Why it was not ok.
      type: str
cached:
  description: Whether the answer was known.
  returned: success
  type: bool
cache_file:
  description: File on the node that keeps the answer.
  returned: success
  type: str
ansible_facts:
  description: The answer as a fact.
  returned: when it is known
  type: dict
  contains:
    gaudi_batch_size:
      description: The same as RV(batch_size).
      type: int
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils.batch_probe import Probe, parse_size, probe
from ansible_collections.gaudi3.scale.plugins.module_utils.batch_trial import Workload
from ansible_collections.gaudi3.scale.plugins.module_utils.errors import GaudiError


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "workload": {"type": "str", "default": "gaudi3_scale.workloads:causal_language_model"},
            "workload_options": {"type": "dict", "default": {}},
            "maximum": {"type": "int", "default": 1024},
            "minimum": {"type": "int", "default": 1},
            "multiple_of": {"type": "int", "default": 1},
            "margin": {"type": "float", "default": 0.01},
            "utilisation": {"type": "float", "default": 1.0},
            "steps": {"type": "int", "default": 3},
            "timeout": {"type": "int", "default": 900},
            "memory_limit": {"type": "str"},
            "device": {"type": "str", "choices": ["hpu", "cuda", "cpu"], "default": "hpu"},
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
            "environment_files": {"type": "list", "elements": "str", "default": ["-/etc/gaudi3_scale/environment"]},
            "refresh": {"type": "bool", "default": False},
            "state_directory": {"type": "path", "default": "/var/lib/gaudi3_scale"},
        },
        supports_check_mode=True,
    )
    options = module.params
    try:
        result = probe(question(options), refresh=options["refresh"], check_mode=module.check_mode)
    except GaudiError as error:
        module.fail_json(msg=str(error), **{"trials": [], **error.facts})
    if result["batch_size"] is not None:
        result["ansible_facts"] = {"gaudi_batch_size": result["batch_size"]}
    module.exit_json(**result)


def question(options: dict) -> Probe:
    limit = options["memory_limit"]
    workload = Workload(
        function=options["workload"],
        options=options["workload_options"],
        steps=options["steps"],
        device=options["device"],
        memory_limit=None if limit is None else parse_size(limit),
    )
    return Probe(
        workload=workload,
        maximum=options["maximum"],
        minimum=options["minimum"],
        multiple_of=options["multiple_of"],
        margin=options["margin"],
        utilisation=options["utilisation"],
        timeout=options["timeout"],
        venv=options["venv"],
        environment_files=tuple(options["environment_files"]),
        state_directory=options["state_directory"],
    )


if __name__ == "__main__":
    main()
