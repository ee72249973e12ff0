#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
---
module: hpu_flags_info
short_description: Explain environment flags of the Gaudi software on a node
version_added: "1.0.0"
description:
  - Evaluates a list of flags, an environment file or the environment of a running job. For each flag it reports whether
    any software reads it, whether it has an effect in this mode and release, what to use instead, and the source.
  - The installed bridge's list of its flags is read as text. All other flags, and all flags on a node without a bridge,
    are looked up in the collection's catalog.
  - All keys are always returned.
options:
  flags:
    description:
      - Flags to evaluate, as a list of C(NAME=value) or a mapping. One of O(flags), O(file) and O(job) is required.
    type: raw
  file:
    description: Environment file on the node.
    type: path
  job:
    description: Job of M(gaudi3.scale.training_job) that runs on the node. The environment of its processes is read.
    type: str
  release:
    description:
      - Release of the Gaudi software that the flags are for.
      - By default that of the installed bridge, or without one the newest known release.
    type: str
    default: ""
  release_overrides:
    description: Rows that replace or add releases, as a mapping from version to fields of a release, such as C(build).
    type: dict
    default: {}
  profile:
    description: Kind of job that the flags are for. By default read from the flags.
    type: str
    choices: ["", training_compile, training_lazy, inference_vllm]
    default: ""
  network:
    description: Network between the nodes. By default nothing is reported about flags that only some networks use.
    type: str
    choices: ["", gaudi_ethernet, infiniband, roce, efa, ethernet]
    default: ""
  venv:
    description: Virtual environment that may contain the bridge.
    type: path
    default: /opt/gaudi3_scale/venv
  stock_torch:
    description: Whether jobs import torch from PyPI, which has no lazy mode. By default unknown.
    type: bool
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Read-only.
  diff_mode:
    support: none
    description: Changes nothing. Manual changes to O(file) are in RV(hand_edit).
seealso:
  - module: gaudi3.scale.hpu_flags
  - module: gaudi3.scale.training_job
"""

EXAMPLES = r"""
- name: Explain the flags of the node's file
  gaudi3.scale.hpu_flags_info:
    file: /etc/gaudi3_scale/environment
  become: true

- name: Check whether flags exist
  gaudi3.scale.hpu_flags_info:
    release: 1.24.1
    flags:
      - PT_HPU_POOL_STRATEGY=OPTIMIZE_UTILIZATION
      - PT_HPU_ENABLE_ADVANCED_FUSION=1

- name: Explain the flags of a running job
  gaudi3.scale.hpu_flags_info:
    job: training
  become: true
"""

RETURN = r"""
source:
  description: Source of the flags.
  returned: always
  type: str
  sample: process 4711 of job training
release:
  description: Release that they were evaluated for.
  returned: always
  type: str
  sample: "1.24"
profile:
  description: Kind of job that they were evaluated for.
  returned: always
  type: str
  sample: training_compile
modes:
  description: Execution modes of this kind of job.
  returned: always
  type: list
  elements: str
network:
  description: Network that they were evaluated for. Empty if not known.
  returned: always
  type: str
bridge:
  description: "Version of the installed bridge. Empty: none."
  returned: always
  type: str
judged_by:
  description: Source of the verdict on the bridge's flags.
  returned: always
  type: str
  sample: installed bridge 1.24.1.482
flags:
  description: One verdict per flag.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Name of the flag.
      type: str
    value:
      description: Value as text.
      type: str
    real:
      description: Whether any software reads this name.
      type: bool
    known:
      description:
        - Software known to read this name, V(gaudi), V(another program) or V(nobody).
        - Names of other programs (V(VLLM_...) outside the catalog, V(RAY_...), V(OMP_...), V(GLOO_...)) are not
          evaluated further.
      type: str
      sample: gaudi
    effective:
      description: V(yes), V(no) or V(unknown), in this mode and release.
      type: str
    origin:
      description:
        - Where the flag in the file was set, and its source, as M(gaudi3.scale.hpu_flags) recorded it, for example
          V(vendor package) with the vendor's file. Empty for a list, for a job, and for manually added lines.
      type: str
      sample: "vendor package: /etc/profile.d/habanalabs.sh"
    level:
      description: V(ok), V(warning) or V(error). M(gaudi3.scale.hpu_flags) would refuse an error.
      type: str
    why:
      description: "Remark on the flag. Empty: none."
      type: str
    use_instead:
      description: "What to do instead. Empty: nothing."
      type: str
    judged_by:
      description: Source of the verdict.
      type: str
    effect:
      description: What the flag does. Empty if not known.
      type: str
    since:
      description: First release with evidence of the flag, from the catalog.
      type: str
    removed:
      description: First release known to be without the flag, from the catalog.
      type: str
    verified_through:
      description: Last release with evidence of the flag, from the catalog.
      type: str
other_variables:
  description: Names of variables in the file or process that are not flags and were not evaluated.
  returned: always
  type: list
  elements: str
hand_edit:
  description: Lines that were added (V(+)) or removed (V(-)) by hand since M(gaudi3.scale.hpu_flags) wrote O(file).
  returned: always
  type: list
  elements: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.explanation import ExplainOptions, explain
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.profiles import NETWORKS, PROFILES
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        empty=("venv",),
        argument_spec={
            "flags": {"type": "raw"},
            "file": {"type": "path"},
            "job": {"type": "str"},
            "release": {"type": "str", "default": ""},
            "release_overrides": {"type": "dict", "default": {}},
            "profile": {"type": "str", "choices": ["", *PROFILES], "default": ""},
            "network": {"type": "str", "choices": ["", *NETWORKS], "default": ""},
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
            "stock_torch": {"type": "bool"},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], _module: AnsibleModule) -> dict[str, Any]:
    given = {name: options[name] for name in ("flags", "file", "job") if options[name] is not None}
    return explain(ExplainOptions(**{**options, "flags": (), "file": "", "job": "", **given}), run_process)


if __name__ == "__main__":
    main()
