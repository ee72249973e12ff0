#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: audit_facts
short_description: Collect audit facts from a node
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Returns the host's load over half a second, the flags of its jobs, its last qualification, how many of its jobs
    failed, what O(job) last reported, and where the kernel, C(hl-smi) and HLML disagree about a card. It starts
    nothing.
  - M(gaudi3.scale.cluster_audit) evaluates these facts.
options:
  job:
    description: "Name of a running or finished training job. Empty: none."
    type: str
    default: ""
  flags:
    description: File with the jobs' flags.
    type: path
    default: /etc/gaudi3_scale/environment
  qualification:
    description: Directory with the node's qualification.
    type: path
    default: /var/lib/gaudi3_scale/qualify
  state_directory:
    description: Directory with job state.
    type: path
    default: /var/lib/gaudi3_scale
  log_directory:
    description: Directory with job logs.
    type: path
    default: /var/log/gaudi3_scale
attributes:
  check_mode:
    support: full
    description: Read-only.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
seealso:
  - module: gaudi3.scale.cluster_audit
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Collect the node's facts
  gaudi3.scale.audit_facts:
    job: llama
  become: true
  register: gaudi_audit_facts_result
"""

RETURN = r"""
facts:
  description:
    - C(system) with C(cpu_busy), C(io_wait) and C(memory_used), from 0 to 1; C(flags), V(null) without a flags file;
      C(qualification) with C(state) and C(time); C(jobs), how many are C(known) and C(failed); C(job) with C(state),
      its last lines by kind, C(restarts) and C(usage), empty if this node does not know the job; C(cards), how many
      were C(compared), which differences between their sources are C(explained) and C(unexplained), and C(hlml_reason);
      C(stack) with the loaded C(driver), C(kernel) and C(os).
  type: dict
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._audit.facts import gather
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import LOG_DIRECTORY, STATE_DIRECTORY
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import kernel_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        empty=("job",),
        argument_spec={
            "job": {"type": "str", "default": ""},
            "flags": {"type": "path", "default": "/etc/gaudi3_scale/environment"},
            "qualification": {"type": "path", "default": "/var/lib/gaudi3_scale/qualify"},
            "state_directory": {"type": "path", "default": STATE_DIRECTORY},
            "log_directory": {"type": "path", "default": LOG_DIRECTORY},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], _module: AnsibleModule) -> dict[str, Any]:
    """Read, and report."""
    facts = gather(run_process, **options, kernel_root=kernel_tree())
    return {"changed": False, "facts": facts}


if __name__ == "__main__":
    main()
