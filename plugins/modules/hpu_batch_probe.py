#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: hpu_batch_probe
short_description: Find the best batch size that trains on this node
version_added: "1.0.0"
description:
  - Runs a few real training steps at one batch size after another, each in a fresh process in the training venv, and
    returns the largest size that ran and left a margin of memory free, or the smallest with the best throughput. A size
    that was not tried is never returned.
  - The next size comes from the peaks that were measured, where the memory's limit is known; else from doubling and
    halving. Before the first trial the host works out what a step takes, where the workload runs on tensors without
    contents.
  - Shows a line for each trial on the screen. Each trial is kept on the node as soon as it has ended, so that a probe
    that was interrupted resumes from there.
  - Running out of memory is distinguished from a crash, from a trial that does not end, and from a workload that
    cannot be run. Each of the last three ends the search with an error.
  - Trials are kept under a key of all that they depend on - the workload with its options, the environment files, the
    cards, the driver, the number of processes and the versions in the venv. What they answer is returned without a
    trial. A change in the workload's own code is not noticed; use O(refresh) then.
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
      - The part of the memory that stays free, of what is left for the batch beside parameters and optimizer state.
      - More stays free where the steps of a trial differ in their peaks.
    type: float
    default: 0.01
  target_hpu_utilization:
    description: The part of the memory that may be used at all.
    type: float
    default: 1.0
  objective:
    description:
      - V(largest) is the largest size that trains.
      - V(throughput) is the smallest size with at least 98 % of the most samples a second, for at most two trials more.
    type: str
    choices: [largest, throughput]
    default: largest
  verify:
    description:
      - A size that a node of the same kind found. Where it runs here it is the answer, after at most one trial; where
        it does not, the search resumes from what that trial reported.
    type: int
  processes:
    description: How many ranks a trial has, each with its own card, as the job will have. The worst rank counts.
    type: int
    default: 1
  global_batch:
    description: Samples that a step of the optimizer shall have over all ranks. RV(global_batch) is how to make it.
    type: int
  world_size:
    description: The number of ranks of the job that O(global_batch) is for.
    type: int
    default: 1
  learning_rate:
    description: A learning rate to be scaled for O(global_batch).
    type: float
  learning_rate_batch:
    description: The global batch that O(learning_rate) was right for.
    type: int
  scaling:
    description:
      - How the learning rate grows with the global batch - V(linear) (Goyal et al., arXiv:1706.02677), V(sqrt) (Hoffer
        et al., arXiv:1705.08741), or V(none).
    type: str
    choices: [linear, sqrt, none]
    default: linear
  steps:
    description: Training steps a trial.
    type: int
    default: 3
  timeout:
    description: Seconds after which a trial is ended and called a hang. The first step on a card compiles its graph.
    type: int
    default: 900
  lock_timeout:
    description: Seconds to wait for the trial of another run on this node.
    type: int
    default: 900
  memory_limit:
    description:
      - How much memory a trial may take when O(device=cpu), where it stands for the memory of a card.
      - Bytes, or a number with KiB, MiB or GiB.
    type: str
  refresh:
    description: Forget the trials that are known, and make them again.
    type: bool
    default: false
  state_directory:
    description: Directory below which trials are kept, as C(probe/<key>.json).
    type: path
    default: /var/lib/gaudi3_scale
extends_documentation_fragment:
  - gaudi3.scale.trial
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: partial
    description: Makes no trial.
    details: Returns a known answer. An unknown one is not probed for; RV(batch_size) is then V(null).
  diff_mode:
    support: full
    description: Shows the answer before and after.
notes:
  - A trial takes the whole card, so nothing else may use the cards meanwhile.
  - An action plugin of the same name runs the module once for each trial.
"""

EXAMPLES = r"""
- name: Find the batch size of the built-in model
  gaudi3.scale.hpu_batch_probe:
    workload_options:
      sequence_length: 1024
    multiple_of: 8
  register: probe
  become: true

- name: Find the fastest batch size of your own workload, for 1024 samples per step on 16 cards
  gaudi3.scale.hpu_batch_probe:
    workload: my_project.probe:step
    maximum: 256
    objective: throughput
    global_batch: 1024
    world_size: 16
    learning_rate: 0.0003
    learning_rate_batch: 256
  become: true
"""

RETURN = r"""
batch_size:
  description: The answer, which ran. V(null) where it is not known, which is only in check mode.
  returned: success
  type: int
  sample: 96
certified:
  description: Whether no larger size is possible with the margin; see RV(why).
  returned: success
  type: bool
verified:
  description: Whether RV(batch_size) is O(verify), so that no search was made.
  returned: success
  type: bool
within:
  description: The part of the true limit by which RV(batch_size) may be below it. V(null) where it is not known.
  returned: success
  type: float
  sample: 0.012
why:
  description: What RV(batch_size) rests on.
  returned: success
  type: str
  sample: 104 is excluded by the measured growth of the peak memory
next:
  description: The size that would be tried next, and why. V(null) where the answer is known.
  returned: success
  type: dict
  sample: {"batch_size": 96, "why": "the size at which the readings predict full memory"}
global_batch:
  description: How to make O(global_batch). V(null) where none is asked for or the answer is not known.
  returned: success
  type: dict
  contains:
    global_batch:
      description: Samples a step of the optimizer.
      type: int
    world_size:
      description: The number of ranks.
      type: int
    batch_size:
      description: Samples a rank and pass, at most RV(batch_size).
      type: int
    accumulation_steps:
      description: Passes a step of the optimizer.
      type: int
    learning_rate:
      description: The scaled learning rate. V(null) where none was given.
      type: float
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
      description: The memory that the device had for the trial. V(null) where it was not reported.
      type: int
    used_by_others_bytes:
      description: The memory that others had before the trial began. V(null) where it was not reported.
      type: int
    held_memory_bytes:
      description:
        - What the trial held of the card after its steps as Synapse reports it, with what PyTorch does not count.
          V(null) where it did not report it.
      type: int
    step_seconds:
      description: Median time of a step after the first.
      type: float
    message:
      description: Why it was not ok.
      type: str
cached:
  description: Whether the answer was known, so that no trial was made.
  returned: success
  type: bool
remarks:
  description: What an operator should know of the answer, such as a damaged file or a neighbor on the card; shown as
    warnings.
  returned: success
  type: list
  elements: str
key:
  description: The key of all that the trials depend on; nodes with the same key are the same for a probe.
  returned: always, unless an option is invalid
  type: str
  sample: 5d0b6a3c7f1e2d48
fields:
  description: What the key is made of, by name.
  returned: always, unless an option is invalid
  type: dict
  sample: {"board": "HL-325L", "driver": "1.24.1", "package torch": "2.9.1", "variable PT_HPU_LAZY_MODE": "0"}
cache_file:
  description: File on the node that keeps the trials.
  returned: always, unless an option is invalid
  type: str
ansible_facts:
  description: The answer as a fact.
  returned: when it is known
  type: dict
  contains:
    gaudi_batch_size:
      description: RV(batch_size), or with O(global_batch) the size to make it with.
      type: int
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.probe.batch_probe import probe_step
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.probe.options import probe_from
from ansible_collections.gaudi3.scale.plugins.module_utils._node.job_user import DEFAULT_USER
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    # O(workload_options) may hold secrets, also where Ansible itself refuses another option.
    run_module(
        AnsibleModule,
        answer,
        text=("workload_options",),
        of_failure={"trials": []},
        argument_spec={
            "workload": {"type": "str", "default": "gaudi3_scale.workloads:causal_language_model"},
            "workload_options": {"type": "dict", "default": {}},
            "maximum": {"type": "int", "default": 1024},
            "minimum": {"type": "int", "default": 1},
            "multiple_of": {"type": "int", "default": 1},
            "margin": {"type": "float", "default": 0.01},
            "target_hpu_utilization": {"type": "float", "default": 1.0},
            "objective": {"type": "str", "choices": ["largest", "throughput"], "default": "largest"},
            "verify": {"type": "int"},
            "processes": {"type": "int", "default": 1},
            "global_batch": {"type": "int"},
            "world_size": {"type": "int", "default": 1},
            "learning_rate": {"type": "float"},
            "learning_rate_batch": {"type": "int"},
            "scaling": {"type": "str", "choices": ["linear", "sqrt", "none"], "default": "linear"},
            "steps": {"type": "int", "default": 3},
            "timeout": {"type": "int", "default": 900},
            "lock_timeout": {"type": "int", "default": 900},
            "memory_limit": {"type": "str"},
            "device": {"type": "str", "choices": ["hpu", "cuda", "cpu"], "default": "hpu"},
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
            "environment": {"type": "dict", "default": {}},
            "environment_files": {"type": "list", "elements": "str", "default": ["-/etc/gaudi3_scale/environment"]},
            "user": {"type": "str", "default": DEFAULT_USER},
            "refresh": {"type": "bool", "default": False},
            "state_directory": {"type": "path", "default": "/var/lib/gaudi3_scale"},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    result = probe_step(probe_from(options), refresh=options["refresh"], check_mode=module.check_mode)
    if result["batch_size"] is not None:
        result["ansible_facts"] = {"gaudi_batch_size": (result["global_batch"] or result)["batch_size"]}
    return result


if __name__ == "__main__":
    main()
