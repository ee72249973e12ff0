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
  - Runs a few real training steps at one batch size after another, each in a fresh process in the training venv.
    Returns the largest size that ran and left a margin of memory free, or the smallest size with the best throughput.
    It never returns a size that was not tried.
  - Where the memory limit is known, the next size is calculated from the measured peaks; otherwise sizes are doubled
    and halved. If the workload runs on tensors without data, the host estimates the memory of a step before the first
    trial.
  - Shows a line on the screen for each trial. Each trial is stored on the node as soon as it ends, so an interrupted
    probe resumes from there.
  - Distinguishes out-of-memory from a crash, a hang, and a workload that cannot run. Each of the last three ends the
    search with an error.
  - Trials are stored under a key of everything they depend on - the workload and its options, the environment files,
    the cards, the driver, the number of processes and the versions in the venv. A known answer is returned without a
    trial. Changes in the workload's code are not detected; use O(refresh) after them.
options:
  workload:
    description:
      - Importable C(module:function) in the training venv. It is called as C(function(batch_size=..., device=...,
        **options)) and returns a function without arguments that runs one training step.
    type: str
    default: gaudi3_scale.workloads:causal_language_model
  workload_options:
    description: More arguments of the function.
    type: dict
    default: {}
  maximum:
    description: Largest batch size to try.
    type: int
    default: 1024
  minimum:
    description: Smallest batch size to try.
    type: int
    default: 1
  multiple_of:
    description: Try only multiples of this number.
    type: int
    default: 1
  margin:
    description:
      - Fraction of memory to keep free, of the memory available to the batch after parameters and optimizer state.
      - More stays free if the peaks of a trial's steps vary.
    type: float
    default: 0.01
  target_hpu_utilization:
    description: Fraction of the total memory that may be used.
    type: float
    default: 1.0
  objective:
    description:
      - V(largest) finds the largest size that trains.
      - V(throughput) finds the smallest size with at least 98 % of the highest samples per second, in at most two more
        trials.
    type: str
    choices: [largest, throughput]
    default: largest
  verify:
    description:
      - Batch size that a node of the same kind found. If it runs here, it is the answer after at most one trial;
        otherwise the search resumes from what that trial reported.
    type: int
  processes:
    description: Ranks per trial, each on its own free card, as in the job. The worst rank counts.
    type: int
    default: 1
  global_batch:
    description: Samples per optimizer step over all ranks. RV(global_batch) has the settings for it.
    type: int
  world_size:
    description: World size of the job that O(global_batch) is for.
    type: int
    default: 1
  learning_rate:
    description: Learning rate to scale for O(global_batch).
    type: float
  learning_rate_batch:
    description: Global batch that O(learning_rate) was tuned for.
    type: int
  scaling:
    description:
      - How the learning rate scales with the global batch - V(linear) (Goyal et al., arXiv:1706.02677), V(sqrt) (Hoffer
        et al., arXiv:1705.08741), or V(none).
    type: str
    choices: [linear, sqrt, none]
    default: linear
  steps:
    description: Training steps per trial.
    type: int
    default: 3
  timeout:
    description:
      - Seconds after which a trial is stopped and reported as a hang. The first step on a card compiles its graph.
    type: int
    default: 900
  lock_timeout:
    description: Seconds to wait for a trial of another run on this node.
    type: int
    default: 900
  memory_limit:
    description:
      - Memory limit of a trial with O(device=cpu), which stands in for a card's memory.
      - Bytes, or a number with KiB, MiB or GiB.
    type: str
  refresh:
    description: Discard stored trials and run them again.
    type: bool
    default: false
  state_directory:
    description: Directory for stored trials, as C(probe/<key>.json).
    type: path
    default: /var/lib/gaudi3_scale
extends_documentation_fragment:
  - gaudi3.scale.trial
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: partial
    description: Runs no trial.
    details: Returns a known answer. Does not probe for an unknown one; RV(batch_size) is then V(null).
  diff_mode:
    support: full
    description: Shows the answer before and after.
notes:
  - A trial takes the whole card, so nothing else may use the cards meanwhile.
  - An action plugin of the same name runs the module once per trial.
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
  description: Batch size that was found and has run. V(null) if not known, which happens only in check mode.
  returned: success
  type: int
  sample: 96
certified:
  description: Whether it is established that no larger size fits with the margin; see RV(why).
  returned: success
  type: bool
verified:
  description: Whether RV(batch_size) is O(verify), so that no search was needed.
  returned: success
  type: bool
within:
  description: Fraction by which RV(batch_size) may be below the true limit. V(null) if not known.
  returned: success
  type: float
  sample: 0.012
why:
  description: Evidence for RV(batch_size).
  returned: success
  type: str
  sample: 104 is excluded by the measured growth of the peak memory
next:
  description: Next size to try, and why. V(null) if the answer is known.
  returned: success
  type: dict
  sample: {"batch_size": 96, "why": "the size at which the readings predict full memory"}
global_batch:
  description: Settings for O(global_batch). V(null) if it was not requested or the answer is not known.
  returned: success
  type: dict
  contains:
    global_batch:
      description: Samples per optimizer step.
      type: int
    world_size:
      description: World size.
      type: int
    batch_size:
      description: Samples per rank and pass, at most RV(batch_size).
      type: int
    accumulation_steps:
      description: Passes per optimizer step.
      type: int
    learning_rate:
      description: Scaled learning rate. V(null) if none was given.
      type: float
trials:
  description: All trials in order, including those before an error.
  returned: always
  type: list
  elements: dict
  contains:
    batch_size:
      description: Batch size of the trial.
      type: int
    outcome:
      description: V(ok), V(out_of_memory), V(crash), V(hang) or V(workload_error).
      type: str
    peak_memory_bytes:
      description: Peak memory in use. V(null) if not measured.
      type: int
    resting_memory_bytes:
      description: Memory in use between two steps. V(null) if not measured.
      type: int
    peak_spread_bytes:
      description: Spread between the peaks of the steps. V(null) if not measured.
      type: int
    limit_bytes:
      description: Memory that the device had for the trial. V(null) if not reported.
      type: int
    used_by_others_bytes:
      description: Memory that other processes used before the trial. V(null) if not reported.
      type: int
    held_memory_bytes:
      description:
        - What the trial held of the card after its steps as Synapse reports it, with what PyTorch does not count.
          V(null) where it did not report it.
      type: int
    step_seconds:
      description: Median step time after the first step.
      type: float
    message:
      description: Why the trial was not ok.
      type: str
cached:
  description: Whether the answer was known, so that no trial ran.
  returned: success
  type: bool
remarks:
  description: Remarks for the operator, such as a damaged file or another process on the card; shown as warnings.
  returned: success
  type: list
  elements: str
key:
  description: Key of everything that the trials depend on. The probe treats nodes with the same key as equal.
  returned: always, unless an option is invalid
  type: str
  sample: 5d0b6a3c7f1e2d48
fields:
  description: Fields of the key, by name.
  returned: always, unless an option is invalid
  type: dict
  sample: {"board": "HL-325L", "driver": "1.24.1", "package torch": "2.9.1", "variable PT_HPU_LAZY_MODE": "0"}
cache_file:
  description: File on the node with the stored trials.
  returned: always, unless an option is invalid
  type: str
ansible_facts:
  description: The answer as a fact.
  returned: when known
  type: dict
  contains:
    gaudi_batch_size:
      description: RV(batch_size), or with O(global_batch) the size to use for it.
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
