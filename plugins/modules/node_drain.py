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
  - Drains a node, so that it gets no new jobs, and waits until its running jobs have ended. It ends no job itself.
  - Our drains carry our mark. With Slurm the node's reason begins with C(gaudi3_scale:) and ends with a checksum.
  - What anybody else has drained, set down, set to fail or put under maintenance stays exactly as it is, with either
    O(state). RV(drained_by) is then V(other), RV(reason) says why, and nothing has changed.
  - A drain of ours is found again. It is not ours any more once somebody has changed its reason.
  - Runs wherever it is delegated to, which has to be a host from which the scheduler's commands work.
options:
  node:
    description: The node's name in the scheduler. With Slurm its C(NodeName).
    type: str
    required: true
  adapter:
    description:
      - What keeps the nodes busy.
      - V(slurm) uses C(scontrol) and C(squeue), and needs the rights of root or of an operator of Slurm.
      - V(commands) uses O(drain_command) and O(resume_command).
      - V(none) does nothing. RV(state) is then V(resumed).
    type: str
    required: true
    choices: [none, slurm, commands]
  state:
    description: Whether the node shall be out of service or in service.
    type: str
    required: true
    choices: [drained, resumed]
  reason:
    description: Text for people, after our mark. The reason of a drain that is ours already stays as it is.
    type: str
    default: maintenance
  only_reason:
    description:
      - With O(state=resumed), lift a drain of ours only where its reason begins with this text, so that two playbooks
        of ours do not lift each other's. Any of ours when empty.
    type: str
    default: ""
  wait:
    description:
      - Seconds for running jobs to end. V(0) does not wait, and RV(state) tells whether there are any.
      - When jobs are left after this time the module fails and names them. Our drain stays, so that the node gets no
        new jobs; running the module again waits on, and O(state=resumed) gives the node back.
      - With O(adapter=commands) nothing is known of jobs. O(drain_command) has to wait for them, within O(timeout).
    type: float
    default: 0
  poll:
    description: Seconds between two looks at the running jobs.
    type: float
    default: 10
  drain_command:
    description:
      - With O(adapter=commands), the command that drains a node, one word per item. No shell is involved.
      - V({node}) and V({reason}) in a word are replaced. Other braces stay.
    type: list
    elements: str
    default: []
  resume_command:
    description: With O(adapter=commands), the command that gives a node back, like O(drain_command).
    type: list
    elements: str
    default: []
  query_command:
    description:
      - With O(adapter=commands), a command that prints nothing when the node is in service, and a line when it is
        drained. Best is the reason, for only then can two drains be distinguished.
      - Without it nobody else's drain can be seen. Then only the drains of this module are known.
    type: list
    elements: str
    default: []
  timeout:
    description: Seconds for one of the commands.
    type: float
    default: 300
  state_directory:
    description: With O(adapter=commands), where our mark is kept, as C(<node>.json) on the host where the module runs.
    type: path
    default: /var/lib/gaudi3_scale/drain
attributes:
  check_mode:
    support: full
    description: Asks the scheduler and foresees the outcome. Does not wait, and does not fail because of running jobs.
  diff_mode:
    support: full
    description: Shows state, owner and reason of the drain before and after.
notes:
  - Where Slurm is installed below a directory of its own, add that to C(PATH) with the task's C(environment).
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
    - V(resumed) when the node takes jobs, V(draining) when it gets no new ones and some still run, V(drained) when none
      runs. A node that is down or under maintenance counts as drained.
  type: str
  returned: always but when the scheduler cannot be asked
  sample: drained
drained_by:
  description: V(nobody), V(us) or V(other).
  type: str
  returned: always but when the scheduler cannot be asked
  sample: us
reason:
  description: Why the node is out of service, empty when it is not.
  type: str
  returned: always but when the scheduler cannot be asked
  sample: "gaudi3_scale: driver 1.24.1 #8d2f61"
jobs:
  description: The jobs that are on the node. Empty with O(adapter=commands).
  type: list
  elements: dict
  returned: always but when the scheduler cannot be asked
  contains:
    id:
      description: The job's id.
      type: str
      sample: "4711"
    user:
      description: Whose job it is.
      type: str
      sample: alice
    name:
      description: The job's name.
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
