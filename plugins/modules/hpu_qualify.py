#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_qualify
short_description: Start or stop a node's self-test
version_added: "1.0.0"
description:
  - Runs what M(gaudi3.scale.hpu_verify) asks, and the tests of the vendor's C(hl_qual) that the level and the boards of
    this node have, in a unit of systemd that outlives this task. What the kernel has logged and the cards have counted
    is compared before and after each test.
  - What was cut off, by a reboot too, resumes with the test that was cut off. What has ended starts again.
  - The tests need the cards alone. Where a process has one open, nothing begins, and it is named.
  - M(gaudi3.scale.hpu_qualify_info) reports its state.
options:
  state:
    description: V(started) starts, or resumes. V(stopped) ends all of its processes; what was measured is kept.
    type: str
    choices: [started, stopped]
    default: started
  level:
    description:
      - How much is tested. V(quick) takes minutes, V(full) about half an hour, V(burn_in) most of a day, at the lowest
        priority.
    type: str
    choices: [quick, full, burn_in]
    default: quick
  release:
    description: The release that has to be running, as for M(gaudi3.scale.hpu_verify).
    type: str
    required: true
  cards:
    description: Number of cards that the node has to have.
    type: int
    required: true
  device:
    description: What the ranks of the other stages compute on; it is kept with the results.
    type: str
    choices: [hpu, cuda, cpu]
    default: hpu
  venv:
    description: Where the node library is. Only root may write it and what is in it, since root runs it.
    type: path
    default: /opt/gaudi3_scale/venv
  flags:
    description: File with the environment of the tests, which may be missing. Only root may write it.
    type: path
    default: /etc/gaudi3_scale/environment
  leave_out:
    description:
      - Tests that are not run, each with the reason. With V(false) a test is run that is left out on this board.
    type: dict
    default: {}
  reload_driver:
    description:
      - Whether the driver may be reloaded with C(timeout_locked=0), which the tests of SerDes errors, power, EDP and
        HBM want on Gaudi 2, and as it was at their end. Without it they are left out there, unless the driver is loaded
        so.
    type: bool
    default: false
  replaced_rows_limit:
    description: Most memory rows of one card that may have been replaced, as for M(gaudi3.scale.hpu_verify).
    type: int
    default: 32
  restart:
    description: Stop a running test, and start again.
    type: bool
    default: false
  detach:
    description:
      - Whether nobody is going to wait for the end. The same tests are then not started again by the next task
        without it, which finds them ended.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Tells what would be run. What would be refused is refused.
  diff_mode:
    support: none
    description: Nothing of the operator's is changed.
seealso:
  - module: gaudi3.scale.hpu_qualify_info
  - module: gaudi3.scale.hpu_qualify_schedule
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Start the short tests
  gaudi3.scale.hpu_qualify:
    release: 1.24.1
    cards: 8
  become: true

- name: Wait for the tests to end
  gaudi3.scale.hpu_qualify_info:
    wait: true
    timeout: 1800
  register: qualified
  become: true
"""

RETURN = r"""
plan:
  description:
    - What is run. C(tests) with C(test), C(words) of C(hl_qual), C(seconds), C(driver) (how the test wants it loaded)
      and C(environment) (variables that it needs), and C(left_out), test to reason.
  type: dict
  returned: when it is started
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._cards import hpu_facts
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_modules import find_holders
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import kernel_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.files import Files
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.matrix import LEVELS
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.plan import Options
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.state import How, start, stop


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "state": {"type": "str", "choices": ["started", "stopped"], "default": "started"},
            "level": {"type": "str", "choices": list(LEVELS), "default": "quick"},
            "release": {"type": "str", "required": True},
            "cards": {"type": "int", "required": True},
            "device": {"type": "str", "choices": ["hpu", "cuda", "cpu"], "default": "hpu"},
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
            "flags": {"type": "path", "default": "/etc/gaudi3_scale/environment"},
            "leave_out": {"type": "dict", "default": {}},
            "reload_driver": {"type": "bool", "default": False},
            "replaced_rows_limit": {"type": "int", "default": 32},
            "restart": {"type": "bool", "default": False},
            "detach": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    """Begin or end, and report."""
    state, how = given.pop("state"), How(given.pop("restart"), given.pop("detach"))
    options = Options(**given)
    if state == "stopped":
        return {"changed": False if module.check_mode else stop(run_process)}
    facts = hpu_facts.gather(run_process, kernel_tree())
    holders = [one for one in find_holders(kernel_tree()) if one.computes]
    return start(options, facts, holders, how, run_process, module.check_mode, Files())


if __name__ == "__main__":
    main()
