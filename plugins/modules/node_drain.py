#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: node_drain
short_description: Drain a node in its scheduler, and resume it
version_added: "1.0.0"
description:
  - Drains a node so that it gets no new jobs, and waits for its running jobs to finish. It ends no job itself.
  - Drains by this module carry a mark. With Slurm the node's reason starts with C(gaudi3_scale:) and ends with a
    checksum.
  - A node that someone else drained, set down, set to fail or put under maintenance stays exactly as it is, with either
    O(state). RV(drained_by) is then V(other), RV(reason) says why, and nothing changes.
  - An existing drain by this module is recognized. It is no longer recognized once someone changes its reason.
  - Delegate the task to a host where the scheduler's commands work.
options:
  node:
    description: Name of the node in the scheduler. With Slurm its C(NodeName).
    type: str
    required: true
  adapter:
    description:
      - Scheduler of the nodes.
      - V(slurm) uses C(scontrol) and C(squeue), and needs root or Slurm operator rights.
      - V(commands) uses O(drain_command) and O(resume_command).
      - V(none) does nothing. RV(state) is then V(resumed).
    type: str
    required: true
    choices: [none, slurm, commands]
  state:
    description: Whether the node should be out of service or in service.
    type: str
    required: true
    choices: [drained, resumed]
  reason:
    description: Reason for people, after the mark. A drain by this module keeps its existing reason.
    type: str
    default: maintenance
  only_reason:
    description:
      - "With O(state=resumed), resume the node only if the drain's reason starts with this text, so that two playbooks
        of this collection do not undo each other's drains. Empty: any drain by this module."
    type: str
    default: ""
  wait:
    description:
      - Seconds to wait for running jobs to finish. V(0) does not wait; RV(state) then shows whether jobs are running.
      - If jobs are left after this time, the module fails and names them. The drain stays, so the node gets no new
        jobs. Run the module again to keep waiting, or use O(state=resumed) to resume the node.
      - With O(adapter=commands) jobs are not visible. O(drain_command) must wait for them, within O(timeout).
    type: float
    default: 0
  poll:
    description: Seconds between polls of the running jobs.
    type: float
    default: 10
  drain_command:
    description:
      - With O(adapter=commands), the command that drains a node, one argument per item, run without a shell.
      - V({node}) and V({reason}) in an argument are replaced. Other braces stay.
    type: list
    elements: str
    default: []
  resume_command:
    description: With O(adapter=commands), the command that resumes a node, like O(drain_command).
    type: list
    elements: str
    default: []
  query_command:
    description:
      - With O(adapter=commands), a command that prints nothing for a node in service, and one line for a drained node.
        Print the reason if possible, because otherwise two drains cannot be distinguished.
      - Without it only drains by this module are known, not those by others.
    type: list
    elements: str
    default: []
  timeout:
    description: Seconds per command.
    type: float
    default: 300
  state_directory:
    description:
      - With O(adapter=commands), the directory for the mark, C(<node>.json), on the host where the module runs.
    type: path
    default: /var/lib/gaudi3_scale/drain
attributes:
  check_mode:
    support: full
    description:
      - Queries the scheduler and predicts the result. Does not wait, and does not fail because of running jobs.
  diff_mode:
    support: full
    description: Shows state, owner and reason of the drain before and after.
notes:
  - If Slurm is installed in a separate directory, add it to C(PATH) with the task's C(environment).
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Drain the node in Slurm and wait up to four hours for its jobs
  gaudi3.scale.node_drain:
    node: "{{ inventory_hostname_short }}"
    adapter: slurm
    state: drained
    reason: driver 1.24.1
    wait: 14400
  delegate_to: slurm-controller
  register: drain

- name: Stop if another owner has drained the node
  ansible.builtin.assert:
    that: drain.drained_by != 'other'
    fail_msg: "{{ inventory_hostname }} was drained by somebody else: {{ drain.reason }}"

- name: Resume the node
  gaudi3.scale.node_drain:
    node: "{{ inventory_hostname_short }}"
    adapter: slurm
    state: resumed
  delegate_to: slurm-controller

- name: Drain a Kubernetes node with kubectl, which evicts its pods
  gaudi3.scale.node_drain:
    node: "{{ inventory_hostname }}"
    adapter: commands
    state: drained
    drain_command: [kubectl, drain, "{node}", --ignore-daemonsets, --timeout=1h]
    resume_command: [kubectl, uncordon, "{node}"]
    query_command: [kubectl, get, node, "{node}", -o, "jsonpath={.spec.unschedulable}"]
    timeout: 3700
  delegate_to: localhost
"""

RETURN = r"""
state:
  description:
    - V(resumed) if the node accepts jobs, V(draining) if it gets no new jobs and some still run, V(drained) if none
      runs. A node that is down or under maintenance counts as drained.
  type: str
  returned: always, unless the scheduler is unreachable
  sample: drained
drained_by:
  description: V(nobody), V(us) or V(other).
  type: str
  returned: always, unless the scheduler is unreachable
  sample: us
reason:
  description: "Why the node is out of service. Empty: in service."
  type: str
  returned: always, unless the scheduler is unreachable
  sample: "gaudi3_scale: driver 1.24.1 #8d2f61"
jobs:
  description: Jobs on the node. Empty with O(adapter=commands).
  type: list
  elements: dict
  returned: always, unless the scheduler is unreachable
  contains:
    id:
      description: Job id.
      type: str
      sample: "4711"
    user:
      description: Owner of the job.
      type: str
      sample: alice
    name:
      description: Name of the job.
      type: str
      sample: train
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._upgrade.drain import state as drain


def main() -> None:
    command = {"type": "list", "elements": "str", "default": []}
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "node": {"type": "str", "required": True},
            "adapter": {"type": "str", "required": True, "choices": ["none", "slurm", "commands"]},
            "state": {"type": "str", "required": True, "choices": ["drained", "resumed"]},
            "reason": {"type": "str", "default": "maintenance"},
            "only_reason": {"type": "str", "default": ""},
            "wait": {"type": "float", "default": 0},
            "poll": {"type": "float", "default": 10},
            "drain_command": command,
            "resume_command": command,
            "query_command": command,
            "timeout": {"type": "float", "default": 300},
            "state_directory": {"type": "path", "default": "/var/lib/gaudi3_scale/drain"},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    options = drain.DrainOptions(**given)
    return drain.converge(options, run_process, module.check_mode)


if __name__ == "__main__":
    main()
