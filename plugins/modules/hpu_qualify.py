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
  - Runs the checks of M(gaudi3.scale.hpu_verify) and the vendor's C(hl_qual) tests for the level and the boards of this
    node, in a systemd unit that outlives this task. Compares the kernel log and the cards' counters before and after
    each test.
  - An interrupted run, also by a reboot, resumes with the interrupted test. A finished run starts again.
  - The tests need exclusive use of the cards. If a process has one open, nothing starts and the process is named.
  - M(gaudi3.scale.hpu_qualify_info) reports the state.
options:
  state:
    description: V(started) starts or resumes the tests. V(stopped) stops all their processes and keeps the results.
    type: str
    choices: [started, stopped]
    default: started
  level:
    description:
      - Extent of the tests. V(quick) takes minutes, V(full) about half an hour, V(burn_in) most of a day, at the lowest
        priority.
    type: str
    choices: [quick, full, burn_in]
    default: quick
  release:
    description: Release that must be running, as for M(gaudi3.scale.hpu_verify).
    type: str
    required: true
  cards:
    description: Number of cards that the node must have.
    type: int
    required: true
  device:
    description: Device that the ranks of the other stages compute on. It is stored with the results.
    type: str
    choices: [hpu, cuda, cpu]
    default: hpu
  venv:
    description:
      - Virtual environment with the node library. Only root may have write access to it and its contents, because root
        runs it.
    type: path
    default: /opt/gaudi3_scale/venv
  flags:
    description: Optional file with the environment of the tests. Only root may have write access.
    type: path
    default: /etc/gaudi3_scale/environment
  excluded:
    description: Tests to skip, each with the reason. V(false) runs a test that is skipped on this board by default.
    type: dict
    default: {}
  reload_driver:
    description:
      - Whether the driver may be reloaded with C(timeout_locked=0), which the tests of SerDes errors, power, EDP and
        HBM need on Gaudi 2, and reloaded as before when they end. Otherwise these tests are skipped there, unless the
        driver is already loaded that way.
    type: bool
    default: false
  replaced_rows_limit:
    description: Maximum memory rows of one card that may have been replaced, as for M(gaudi3.scale.hpu_verify).
    type: int
    default: 32
  restart:
    description: Stop a running test and start again.
    type: bool
    default: false
  detach:
    description:
      - Whether no task will wait for the end. The next task without it then does not start the same tests again but
        finds them finished.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Reports what would run. Everything that would be refused is refused.
  diff_mode:
    support: none
    description: Changes no files of the operator.
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
    - Planned tests. C(tests) with C(test), C(words) of C(hl_qual), C(seconds), C(driver) (how the test needs it loaded)
      and C(environment) (required variables), and C(left_out), a mapping from test to reason.
  type: dict
  returned: with O(state=started)
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
            "excluded": {"type": "dict", "default": {}},
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
