#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: training_job
short_description: Start or stop one node's share of a distributed training job
version_added: "0.1.0"
description:
  - Runs C(torchrun) as a systemd unit, so that the job outlives SSH, the controller and a job limit of AWX.
  - A job is known by its name. Starting a name that runs, or that has ended well, with the same description changes
    nothing. One that failed or was stopped is started again, and so is one whose description is a new one.
  - Another description for a job that runs is refused, and the difference is named.
  - Run this on every node of O(hosts) with the same options; only O(host) differs.
options:
  name:
    description: Name of the job. Letters, digits, dots, dashes and underscores.
    type: str
    required: true
  state:
    description:
      - V(started) runs the job until it ends.
      - V(stopped) ends every process of it on this node, and fails if one is left.
      - V(absent) also forgets its description. Checkpoints and logs are kept.
    type: str
    choices: [started, stopped, absent]
    default: started
  restart:
    description: Start a job again that runs or has ended well with the same description.
    type: bool
    default: false
  hosts:
    description:
      - Names of all nodes of the job in the order of their ranks. The first one holds rank 0.
      - Required when O(state=started).
    type: list
    elements: str
  host:
    description: The name of this node in O(hosts). Required when O(state=started).
    type: str
  processes_per_node:
    description: Ranks on each node. Required when O(state=started).
    type: int
  cards:
    description:
      - How many cards this node has; more processes are refused unless O(device=cpu).
      - Counted on the PCI bus when this is omitted and O(device=hpu).
    type: int
  rendezvous_address:
    description: Address by which every node reaches the first one of O(hosts). Required when O(state=started).
    type: str
  rendezvous_port:
    description: Port on the first node; it has to be free there.
    type: int
    default: 29500
  command:
    description:
      - What C(torchrun) starts as each rank, a word an item. A script's path or V(-m) and a module, then arguments.
      - Every word reaches the program as it is; nothing in it is expanded.
      - Required when O(state=started).
    type: list
    elements: str
  environment:
    description:
      - Variables of the job, which win over those in O(environment_files).
      - E(GAUDI3_SCALE_JOB), E(GAUDI3_SCALE_JOB_DIR) (for checkpoints) and E(GAUDI3_SCALE_METRICS) (JSON lines from
        rank 0) are set by the job. E(GLOO_SOCKET_IFNAME) and E(HCCL_SOCKET_IFNAME) name the interface towards the
        first node unless they are given here.
      - Where the files set C(PT_HPU_RECIPE_CACHE_CONFIG), the job gets a directory of its own below that cache, unless
        it is given here.
    type: dict
    default: {}
  environment_files:
    description: Files of variables as systemd reads them. One with a C(-) before its path may be missing.
    type: list
    elements: str
    default: ["-/etc/gaudi3_scale/environment"]
  venv:
    description: The virtual environment with C(bin/torchrun).
    type: path
    default: /opt/gaudi3_scale/venv
  working_directory:
    description: Directory in which the ranks start.
    type: path
    default: /
  user:
    description: Account that runs the job; it gets the job's directories.
    type: str
    default: root
  device:
    description: What the ranks compute on. Decides only how O(processes_per_node) is checked.
    type: str
    choices: [hpu, cuda, cpu]
    default: hpu
  stop_timeout:
    description: Seconds between asking a job to stop and killing what is left of it.
    type: int
    default: 60
  state_directory:
    description: Directory below which descriptions and checkpoints lie, as C(jobs/<name>).
    type: path
    default: /var/lib/gaudi3_scale
  log_directory:
    description: Directory below which logs and metrics lie, as C(jobs/<name>).
    type: path
    default: /var/log/gaudi3_scale
  kernel_root:
    description: Root of C(/sys), where the cards are counted.
    type: path
    default: /
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Shows what would be run. What the node has to bring (venv, script, free port) is not looked at.
  diff_mode:
    support: full
    description: Shows the unit, the job's environment and its description.
notes:
  - The environment of a job and its description are readable by root only, but O(environment) is shown with C(--diff).
seealso:
  - module: gaudi3.scale.training_job_info
  - module: gaudi3.scale.training_job_follow
"""

EXAMPLES = r"""
- name: Start the share of each node
  gaudi3.scale.training_job:
    name: llama
    hosts: "{{ groups['gaudi'] }}"
    host: "{{ inventory_hostname }}"
    processes_per_node: 8
    rendezvous_address: 192.0.2.11
    command: [-m, gaudi3_scale.train, --text, /data/text, --max-steps, "1000"]
  become: true

- name: Stop it
  gaudi3.scale.training_job:
    name: llama
    state: stopped
  become: true
"""

RETURN = r"""
state:
  description: How the share stands now; V(running) also in check mode for one that would be started.
  returned: success
  type: str
  sample: running
unit:
  description: Name of the systemd unit.
  returned: success
  type: str
  sample: gaudi3-scale-job-llama.service
argv:
  description: The program that the unit runs. Empty unless O(state=started).
  returned: success
  type: list
  elements: str
job_directory:
  description: Where the job keeps its description and its checkpoints.
  returned: success
  type: str
  sample: /var/lib/gaudi3_scale/jobs/llama
log_directory:
  description: Where C(agent.log), C(metrics.jsonl) and the ranks' logs are.
  returned: success
  type: str
  sample: /var/log/gaudi3_scale/jobs/llama
differences:
  description: In what a running job differs from what was asked for.
  returned: when a start is refused for it
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils.accel_sysfs import pci_cards
from ansible_collections.gaudi3.scale.plugins.module_utils.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils.errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils.job_control import remove, start, stop
from ansible_collections.gaudi3.scale.plugins.module_utils.job_paths import JobPaths, check_name
from ansible_collections.gaudi3.scale.plugins.module_utils.job_plan import check, job_from

NEEDED = ["hosts", "host", "processes_per_node", "rendezvous_address", "command"]


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["started", "stopped", "absent"], "default": "started"},
            "restart": {"type": "bool", "default": False},
            "hosts": {"type": "list", "elements": "str"},
            "host": {"type": "str"},
            "processes_per_node": {"type": "int"},
            "cards": {"type": "int"},
            "rendezvous_address": {"type": "str"},
            "rendezvous_port": {"type": "int", "default": 29500},
            "command": {"type": "list", "elements": "str"},
            "environment": {"type": "dict", "default": {}},
            "environment_files": {"type": "list", "elements": "str", "default": ["-/etc/gaudi3_scale/environment"]},
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
            "working_directory": {"type": "path", "default": "/"},
            "user": {"type": "str", "default": "root"},
            "device": {"type": "str", "choices": ["hpu", "cuda", "cpu"], "default": "hpu"},
            "stop_timeout": {"type": "int", "default": 60},
            "state_directory": {"type": "path", "default": "/var/lib/gaudi3_scale"},
            "log_directory": {"type": "path", "default": "/var/log/gaudi3_scale"},
            "kernel_root": {"type": "path", "default": "/"},
        },
        required_if=[("state", "started", NEEDED)],
        supports_check_mode=True,
    )
    try:
        result = converge(module.params, module.check_mode)
    except GaudiError as error:
        module.fail_json(msg=str(error), **error.facts)
    module.exit_json(**result)


def converge(options: dict, check_mode: bool) -> dict:
    paths = JobPaths(check_name(options["name"]), options["state_directory"], options["log_directory"])
    if options["state"] == "started":
        cards = options["cards"]
        if cards is None and options["device"] == "hpu":
            cards = len(pci_cards(options["kernel_root"]))
        job = check(job_from(options), cards)
        return start(job, paths, run_process, restart=options["restart"], check_mode=check_mode)
    change = stop if options["state"] == "stopped" else remove
    return change(paths, run_process, check_mode=check_mode)


if __name__ == "__main__":
    main()
