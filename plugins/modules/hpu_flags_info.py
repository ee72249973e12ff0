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
  - Judges a list, an environment file or the environment of a running job. For each flag it tells whether anything
    reads it, whether it has an effect in this mode and release, what to use instead, and who says so.
  - The bridge that is installed on the node lists its own flags, and that list is read as text. For all others, and on
    a node without a bridge, the catalog of the collection judges.
  - The same keys are returned always.
options:
  flags:
    description: Flags to judge, as a list of C(NAME=value) or as a mapping. One of these, O(file) and O(job) is needed.
    type: raw
  file:
    description: An environment file on the node.
    type: path
  job:
    description: A job of M(gaudi3.scale.training_job) that runs on the node. The environment of its processes is read.
    type: str
  release:
    description:
      - Release of the Gaudi software that the flags are for.
      - That of the installed bridge when not set, and without one the newest that is known.
    type: str
    default: ""
  release_overrides:
    description: Rows that replace or add releases, from a version to the fields of a release such as C(build).
    type: dict
    default: {}
  profile:
    description: The kind of job that the flags are for. Read from the flags when not set.
    type: str
    choices: ["", training_compile, training_lazy, inference_vllm]
    default: ""
  network:
    description: The network between the nodes. When not set, nothing is said about what only some networks use.
    type: str
    choices: ["", gaudi_ethernet, infiniband, roce, efa, ethernet]
    default: ""
  venv:
    description: Virtual environment in which the bridge may be installed.
    type: path
    default: /opt/gaudi3_scale/venv
  stock_torch:
    description: Whether jobs import the torch from PyPI, which has no lazy mode. Not known when not set.
    type: bool
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Only reads.
  diff_mode:
    support: none
    description: Changes nothing. What a person changed in O(file) is in RV(hand_edit).
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
  description: Where the flags come from.
  returned: always
  type: str
  sample: process 4711 of job training
release:
  description: The release that they are judged for.
  returned: always
  type: str
  sample: "1.24"
profile:
  description: The kind of job that they are judged for.
  returned: always
  type: str
  sample: training_compile
modes:
  description: The execution modes of this kind of job.
  returned: always
  type: list
  elements: str
network:
  description: The network that they are judged for. Empty where it is not known.
  returned: always
  type: str
bridge:
  description: Version of the installed bridge. Empty where there is none.
  returned: always
  type: str
judged_by:
  description: Who judged the bridge's own flags.
  returned: always
  type: str
  sample: installed bridge 1.24.1.482
flags:
  description: A verdict for each flag.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Name of the flag.
      type: str
    value:
      description: Its text.
      type: str
    real:
      description: Whether anything reads this name.
      type: bool
    known:
      description:
        - Who is known to read this name, V(gaudi), V(another program) or V(nobody).
        - Of a name of another program (V(VLLM_...) that is not in the catalog, V(RAY_...), V(OMP_...), V(GLOO_...))
          nothing else is judged.
      type: str
      sample: gaudi
    effective:
      description: V(yes), V(no) or V(unknown), in this mode and release.
      type: str
    origin:
      description:
        - What brought it into the file and who says so, as M(gaudi3.scale.hpu_flags) wrote it there, for example
          V(vendor package) with the vendor's file. Empty for a list, for a job, and for lines of a person.
      type: str
      sample: "vendor package: /etc/profile.d/habanalabs.sh"
    level:
      description: V(ok), V(warning) or V(error). An error is what M(gaudi3.scale.hpu_flags) would refuse.
      type: str
    why:
      description: What is to be said about it. Empty where there is nothing.
      type: str
    use_instead:
      description: What to do. Empty where there is nothing.
      type: str
    judged_by:
      description: The source that decided.
      type: str
    effect:
      description: What the flag does. Empty where that is not known.
      type: str
    since:
      description: The first release with evidence, in the catalog.
      type: str
    removed:
      description: The first release known to be without it, in the catalog.
      type: str
    verified_through:
      description: The last release with evidence, in the catalog.
      type: str
other_variables:
  description: Names of variables of the file or the process that are no flags and were not judged.
  returned: always
  type: list
  elements: str
hand_edit:
  description:
    - Lines that a person added (V(+)) or took away (V(-)) since M(gaudi3.scale.hpu_flags) wrote O(file).
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
