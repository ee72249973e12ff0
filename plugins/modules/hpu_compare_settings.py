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
  - Runs a workload with a base and with each of O(settings), round by round in an order that changes, each run in a
    fresh process in the training venv. Steps to warm up, which compile and replay for the first time, do not count.
  - Returns for each setting the ratio of its speed to that of the base in the same rounds, with a confidence interval,
    what it does to memory and loss, and a verdict.
  - Flags are judged as M(gaudi3.scale.hpu_flags) does before anything runs. A name that nothing reads is refused.
  - A setting that fails has that as its verdict, and the others go on. After a crash or a hang the base runs alone,
    since either can leave a card unusable.
  - Runs are kept on the node. A comparison that was interrupted resumes, and one that is known is returned without a
    run, as long as the comparison, the environment files and the versions in the venv are the same. A change in the
    workload's own code is not noticed; use O(refresh) then.
options:
  workload:
    description:
      - Importable C(module:function) in the training venv. It is called as C(function(batch_size=..., device=...,
        **options)) and returns a function without arguments that does one training step, and may return its loss.
    type: str
    default: gaudi3_scale.workloads:causal_language_model
  workload_options:
    description: Further arguments of the function, for all runs.
    type: dict
    default: {}
  base:
    description:
      - What the settings are compared with. C(batch_size), and where wanted C(flags) and C(options).
    type: dict
    required: true
  settings:
    description:
      - What each setting changes of O(base). A C(name), and at least one of C(flags), C(options) and C(batch_size).
      - A flag is an environment variable, and V(null) takes one of the base or of O(environment_files) away.
    type: list
    elements: dict
    default: []
  flags:
    description: Flags of which each is a setting of its own, as a list of C(NAME=value) or as a mapping.
    type: raw
    default: []
  rounds:
    description: Most rounds. Intervals are looked at after half of them and after all.
    type: int
    default: 10
  precision:
    description: Intervals that reach no further than this part to each side end the comparison after half its rounds.
    type: float
    default: 0.01
  confidence:
    description: How often all intervals together hold the truth. That of a single one is higher, and in RV(level).
    type: float
    default: 0.95
  loss_tolerance:
    description: A mean loss that differs by no more than this part is the same.
    type: float
    default: 0.01
  steps:
    description: Steps of a run that count.
    type: int
    default: 20
  warm_up:
    description: Steps before them. On a card the first compiles the graph, and the second is its first replay.
    type: int
    default: 3
  processes:
    description: Ranks of the workload on this node, each on a card of its own.
    type: int
    default: 1
  timeout:
    description: Seconds after which a run is ended and called a hang.
    type: int
    default: 900
  memory_limit:
    description:
      - How much memory a run may take when O(device=cpu), where it stands for the memory of a card.
      - Bytes, or a number with KiB, MiB or GiB.
    type: str
  release:
    description: Release that the flags are judged for. That of the installed bridge when not set, else the newest.
    type: str
    default: ""
  release_overrides:
    description: Rows that replace or add releases, from a version to the fields of a release such as C(build).
    type: dict
    default: {}
  profile:
    description: The kind of job that the flags are judged for. Read from the flags when not set.
    type: str
    choices: ["", training_compile, training_lazy, inference_vllm]
    default: ""
  network:
    description: The network that the flags are judged for. Any when not set.
    type: str
    choices: ["", gaudi_ethernet, infiniband, roce, efa, ethernet]
    default: ""
  baseline:
    description:
      - The text of a file with RV(fields), RV(settings) and RV(rates) of an earlier comparison on each of its nodes,
        as the playbook C(gaudi3.scale.compare_settings) saves it. What is slower now is in RV(regressions).
      - One that was made with another workload, size, device or release is refused before anything runs.
    type: raw
  baseline_file:
    description: Where O(baseline) comes from, for messages.
    type: str
    default: the baseline
  baseline_node:
    description: The name of this node in O(baseline).
    type: str
    default: ""
  tolerance:
    description: What is slower than in O(baseline) by no more than this part is no regression.
    type: float
    default: 0.05
  refresh:
    description: Forget the runs that are known.
    type: bool
    default: false
  state_directory:
    description: Directory below which runs are kept, as C(compare/<key>.json).
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
    description: Makes no run.
    details: Judges the flags, and returns the verdicts as far as the runs are known.
  diff_mode:
    support: none
    description: The verdicts are in the return values.
notes:
  - A run takes the whole card, so nothing else may use the cards meanwhile.
  - As a task, the module is called once for each run, and shows a line on the screen for each.
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
  description: One for each setting, in their order.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The setting.
      type: str
    verdict:
      description: V(helps), V(hurts), V(no difference), V(changes the loss), V(failed), or V(not measured).
      type: str
    why:
      description: What the verdict rests on.
      type: str
    speed:
      description: Samples a second of those of the base. C(estimate), C(low), C(high), C(level). V(null) if unknown.
      type: dict
    step_time:
      description: Seconds a step of those of the base, with the same keys.
      type: dict
    samples_per_second:
      description: Median over the runs, of all ranks.
      type: float
    step_seconds:
      description: Median over the runs, each of which is the median of its steps.
      type: float
    peak_memory_bytes:
      description: Median over the runs.
      type: float
    memory:
      description: RV(verdicts[].peak_memory_bytes) of that of the base.
      type: float
    loss:
      description: Median over the runs of the mean loss of a run. V(null) where the workload returns none.
      type: float
    loss_change:
      description: The part by which it differs. V(null) where a step learns from other samples than the base's.
      type: float
    rounds:
      description: Rounds that count.
      type: int
    notes:
      description: What was said of its flags.
      type: list
      elements: str
    plain:
      description: Those of its variables that are no Gaudi flags, so that nothing judged them.
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
  description: Medians of the base. C(samples_per_second), C(step_seconds), C(peak_memory_bytes), C(loss).
  returned: success
  type: dict
base_notes:
  description: What was said of the flags of the base.
  returned: success
  type: list
  elements: str
rounds:
  description: Rounds that were started.
  returned: success
  type: int
level:
  description: How often a single interval holds the truth.
  returned: success
  type: float
confidence:
  description: How often all of them do.
  returned: success
  type: float
fields:
  description: What was measured, from a word to its value.
  returned: success
  type: dict
settings:
  description: What each setting, and the base, had in full.
  returned: success
  type: dict
rates:
  description: Samples a second of each run, by setting.
  returned: success
  type: dict
changes:
  description: Speed of that in O(baseline), with C(name), C(speed) and C(slower).
  returned: success
  type: list
  elements: dict
regressions:
  description: A phrase for each that is slower by more than O(tolerance) and beyond noise.
  returned: success
  type: list
  elements: str
runs:
  description: All runs in their order; also of those before an error.
  returned: always
  type: list
  elements: dict
next:
  description: The run that is still to be made, with C(round) and C(name). V(null) when all is measured.
  returned: success
  type: dict
remarks:
  description: What an operator should know besides, such as a damaged file; shown as warnings.
  returned: success
  type: list
  elements: str
cached:
  description: Whether all was known.
  returned: success
  type: bool
state_file:
  description: File on the node that keeps the runs.
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
