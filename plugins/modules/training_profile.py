#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: training_profile
short_description: Read the last profile of a training job on a node
version_added: "1.0.0"
description:
  - Returns what the ranks of this node measured in the steps of their last profile, and summaries of their traces.
  - A profile is written by the built-in trainer with C(--profile), and by C(gaudi3_scale.profiler.GaudiProfiler) in a
    program; see docs/profile.md. C(profile_training.yml) makes one verdict of the profiles of all nodes.
options:
  directory:
    description: Directory with the files C(profile-rank-N.json). By default the folder C(profile) of the job's
      checkpoint directory.
    type: path
  node:
    description:
      - Name of this node in the files. If nodes share the directory, the ranks of other nodes are left out.
      - "Empty: all ranks in the directory."
    type: str
    default: ""
extends_documentation_fragment:
  - gaudi3.scale.job
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Read-only.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
seealso:
  - module: gaudi3.scale.training_job_info
"""

EXAMPLES = r"""
- name: Read what the ranks of this node measured
  gaudi3.scale.training_profile:
    name: llama
    node: "{{ inventory_hostname }}"
  register: profile
  become: true
"""

RETURN = r"""
directory:
  description: Directory of the profile.
  returned: success
  type: str
  sample: /var/lib/gaudi3_scale/jobs/llama/profile
records:
  description:
    - One per rank, with C(rank), C(world_size), C(node), C(device), C(steps) (seconds of each step and its parts),
      C(memory_peak), C(memory_limit), C(links) and C(trace) (name of the trace's file in RV(directory)).
  returned: success
  type: list
  elements: dict
traces:
  description:
    - Summaries of the traces, by C(rank), with seconds of C(data), C(communication), C(moved), C(computed) and C(gap).
  returned: success
  type: list
  elements: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JOB_ARGUMENTS, paths_from
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.state import read_profile


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            **JOB_ARGUMENTS,
            "directory": {"type": "path"},
            "node": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], _module: AnsibleModule) -> dict[str, Any]:
    return read_profile(paths_from(options), options["directory"] or "", options["node"])


if __name__ == "__main__":
    main()
