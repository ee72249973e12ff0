#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: hpu_compare_settings
short_description: Measure the effect of flags and trainer settings on a workload on this node
version_added: "1.0.0"
description:
  - Runs a workload with a base and with each of O(settings), round by round in varying order. Each run is a fresh
    process in the training venv. Warm-up steps, which compile and replay the graph for the first time, do not count.
  - Returns for each setting its speed relative to the base in the same rounds, with a confidence interval, its effect
    on memory and loss, and a verdict.
  - Flags are validated as in M(gaudi3.scale.hpu_flags) before anything runs. A name that no software reads is refused.
  - A setting that fails gets that verdict, and the comparison continues. After a crash or a hang the base runs alone,
    because either can leave a card unusable.
  - Runs are stored on the node. An interrupted comparison resumes, and a known one is returned without a run while the
    comparison, the environment files and the versions in the venv stay the same. Changes in the workload's code are not
    detected; use O(refresh) after them.
options:
  workload:
    description:
      - Importable C(module:function) in the training venv. It is called as C(function(batch_size=..., device=...,
        **options)) and returns a function without arguments that runs one training step and may return its loss.
    type: str
    default: gaudi3_scale.workloads:causal_language_model
  workload_options:
    description: More arguments of the function, for all runs.
    type: dict
    default: {}
  base:
    description: Baseline of the comparison, with C(batch_size) and optionally C(flags) and C(options).
    type: dict
    required: true
  settings:
    description:
      - Changes of each setting to O(base), as a C(name) and at least one of C(flags), C(options) and C(batch_size).
      - A flag is an environment variable. V(null) unsets a variable of the base or of O(environment_files).
    type: list
    elements: dict
    default: []
  flags:
    description: Flags to compare one by one, each as its own setting, as a list of C(NAME=value) or a mapping.
    type: raw
    default: []
  rounds:
    description: Maximum number of rounds. Intervals are evaluated after half of them and after all.
    type: int
    default: 10
  precision:
    description: Relative half-width of the intervals at which the comparison ends after half its rounds.
    type: float
    default: 0.01
  confidence:
    description: Joint confidence level of all intervals. The level of a single interval is higher; see RV(level).
    type: float
    default: 0.95
  loss_tolerance:
    description: Relative difference in mean loss that counts as no change.
    type: float
    default: 0.01
  steps:
    description: Steps of a run that count.
    type: int
    default: 20
  warm_up:
    description:
      - Warm-up steps before them. On a card the first step compiles the graph and the second replays it for the first
        time.
    type: int
    default: 3
  processes:
    description: Ranks of the workload on this node, each on its own free card.
    type: int
    default: 1
  timeout:
    description: Seconds after which a run is stopped and reported as a hang.
    type: int
    default: 900
  memory_limit:
    description:
      - Memory limit of a run with O(device=cpu), which stands in for a card's memory.
      - Bytes, or a number with KiB, MiB or GiB.
    type: str
  release:
    description: Release to validate the flags for. By default that of the installed bridge, or else the newest.
    type: str
    default: ""
  release_overrides:
    description: Rows that replace or add releases, as a mapping from version to fields of a release, such as C(build).
    type: dict
    default: {}
  profile:
    description: Kind of job to validate the flags for. By default read from the flags.
    type: str
    choices: ["", training_compile, training_lazy, inference_vllm]
    default: ""
  network:
    description: Network to validate the flags for. By default any.
    type: str
    choices: ["", gaudi_ethernet, infiniband, roce, efa, ethernet]
    default: ""
  baseline:
    description:
      - Content of a file with RV(fields), RV(settings) and RV(rates) of an earlier comparison on each node, as the
        playbook C(gaudi3.scale.compare_settings) saves it. RV(regressions) lists what is slower now.
      - A baseline with another workload, size, device or release is refused before anything runs.
    type: raw
  baseline_file:
    description: Source of O(baseline), for messages.
    type: str
    default: the baseline
  baseline_node:
    description: Name of this node in O(baseline).
    type: str
    default: ""
  tolerance:
    description: Fraction by which speed may be below O(baseline) without being a regression.
    type: float
    default: 0.05
  refresh:
    description: Discard stored runs and run them again.
    type: bool
    default: false
  state_directory:
    description: Directory for stored runs, as C(compare/<key>.json).
    type: path
    default: /var/lib/gaudi3_scale
  lock_timeout:
    description: Seconds to wait for another probe or comparison on this node.
    type: int
    default: 900
extends_documentation_fragment:
  - gaudi3.scale.trial
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: partial
    description: Runs nothing.
    details: Validates the flags, and returns the verdicts of known runs.
  diff_mode:
    support: none
    description: The verdicts are in the return values.
notes:
  - A run takes the whole card, so nothing else may use the cards meanwhile.
  - When used as a task, the module is called once per run and shows a line on the screen for each.
seealso:
  - module: gaudi3.scale.hpu_flags_info
  - module: gaudi3.scale.hpu_batch_probe
"""

EXAMPLES = r"""
- name: Measure the effect of a flag and a larger batch
  gaudi3.scale.hpu_compare_settings:
    base:
      batch_size: 32
    settings:
      - name: no task queue
        flags:
          PT_HPU_ENABLE_EXECUTION_THREAD: 0
      - name: batch 64
        batch_size: 64
  register: comparison
  become: true
"""

RETURN = r"""
verdicts:
  description: One verdict per setting, in their order.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the setting.
      type: str
    verdict:
      description: V(helps), V(hurts), V(no difference), V(changes the loss), V(failed), or V(not measured).
      type: str
    why:
      description: Evidence for the verdict.
      type: str
    speed:
      description:
        - Samples per second relative to the base, with C(estimate), C(low), C(high) and C(level). V(null) if unknown.
      type: dict
    step_time:
      description: Step time relative to the base, with the same keys.
      type: dict
    samples_per_second:
      description: Samples per second of all ranks, median over the runs.
      type: float
    step_seconds:
      description: Seconds per step, median over the runs of each run's median.
      type: float
    peak_memory_bytes:
      description: Peak memory in bytes, median over the runs.
      type: float
    memory:
      description: RV(verdicts[].peak_memory_bytes) relative to the base.
      type: float
    loss:
      description: Mean loss of a run, median over the runs. V(null) if the workload returns none.
      type: float
    loss_change:
      description: Relative change in loss. V(null) if a step learns from different samples than the base's.
      type: float
    rounds:
      description: Rounds that count.
      type: int
    notes:
      description: Remarks on its flags.
      type: list
      elements: str
    plain:
      description: Variables that are not Gaudi flags and were not validated.
      type: list
      elements: str
    flags:
      description: As given.
      type: dict
    options:
      description: As given.
      type: dict
    batch_size:
      description: As given.
      type: int
base:
  description: Medians of the base, with C(samples_per_second), C(step_seconds), C(peak_memory_bytes) and C(loss).
  returned: success
  type: dict
base_notes:
  description: Remarks on the flags of the base.
  returned: success
  type: list
  elements: str
rounds:
  description: Rounds that were started.
  returned: success
  type: int
level:
  description: Confidence level of a single interval.
  returned: success
  type: float
confidence:
  description: Joint confidence level of all intervals.
  returned: success
  type: float
fields:
  description: What was measured, by name.
  returned: success
  type: dict
settings:
  description: Complete settings of each setting and of the base.
  returned: success
  type: dict
rates:
  description: Samples per second of each run, by setting.
  returned: success
  type: dict
changes:
  description: Speed relative to O(baseline), with C(name), C(speed) and C(slower).
  returned: success
  type: list
  elements: dict
regressions:
  description: One message for each setting that is slower by more than O(tolerance) and beyond noise.
  returned: success
  type: list
  elements: str
runs:
  description: All runs in order, including those before an error.
  returned: always
  type: list
  elements: dict
next:
  description: Next run, with C(round) and C(name). V(null) if all is measured.
  returned: success
  type: dict
remarks:
  description: Other remarks for the operator, such as a damaged file; shown as warnings.
  returned: success
  type: list
  elements: str
cached:
  description: Whether everything was known, so that nothing ran.
  returned: success
  type: bool
state_file:
  description: File on the node with the stored runs.
  returned: success
  type: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.options import baseline, comparison, node, target
from ansible_collections.gaudi3.scale.plugins.module_utils._compare.runs import compare
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.profiles import NETWORKS, PROFILES
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.job_user import DEFAULT_USER
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module

# A workload reads its own options, and a baseline is a report.
TEXT = ("workload_options", "baseline")


def main() -> None:
    # O(workload_options), O(base) and O(settings) may hold secrets, also where Ansible itself refuses an option.
    run_module(
        AnsibleModule,
        answer,
        text=TEXT,
        long=("baseline",),
        of_failure={"runs": []},
        argument_spec={
            "workload": {"type": "str", "default": "gaudi3_scale.workloads:causal_language_model"},
            "workload_options": {"type": "dict", "default": {}},
            "base": {"type": "dict", "required": True},
            "settings": {"type": "list", "elements": "dict", "default": []},
            "flags": {"type": "raw", "default": []},
            "rounds": {"type": "int", "default": 10},
            "precision": {"type": "float", "default": 0.01},
            "confidence": {"type": "float", "default": 0.95},
            "loss_tolerance": {"type": "float", "default": 0.01},
            "steps": {"type": "int", "default": 20},
            "warm_up": {"type": "int", "default": 3},
            "processes": {"type": "int", "default": 1},
            "timeout": {"type": "int", "default": 900},
            "memory_limit": {"type": "str"},
            "device": {"type": "str", "choices": ["hpu", "cuda", "cpu"], "default": "hpu"},
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
            "environment": {"type": "dict", "default": {}},
            "environment_files": {"type": "list", "elements": "str", "default": ["-/etc/gaudi3_scale/environment"]},
            "user": {"type": "str", "default": DEFAULT_USER},
            "release": {"type": "str", "default": ""},
            "release_overrides": {"type": "dict", "default": {}},
            "profile": {"type": "str", "choices": ["", *PROFILES], "default": ""},
            "network": {"type": "str", "choices": ["", *NETWORKS], "default": ""},
            "baseline": {"type": "raw"},
            "baseline_file": {"type": "str", "default": "the baseline"},
            "baseline_node": {"type": "str", "default": ""},
            "tolerance": {"type": "float", "default": 0.05},
            "refresh": {"type": "bool", "default": False},
            "state_directory": {"type": "path", "default": "/var/lib/gaudi3_scale"},
            "lock_timeout": {"type": "int", "default": 900},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    wishes = {"baseline": baseline(options), "refresh": options["refresh"], "check_mode": module.check_mode}
    return compare(comparison(options), node(options), target(options), run_process, **wishes)


if __name__ == "__main__":
    main()
