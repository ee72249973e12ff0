#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_qualify_info
short_description: Report the state of a node's self-test
version_added: "1.0.0"
description:
  - Returns the run that M(gaudi3.scale.hpu_qualify) started, each finished test, and the verdict once all are finished.
  - All keys are always returned, even if no test was ever started.
options:
  wait:
    description: Wait on the node until the tests have finished.
    type: bool
    default: false
  timeout:
    description: Maximum seconds to wait.
    type: int
    default: 600
attributes:
  check_mode:
    support: full
    description: Read-only. Does not wait, because check mode started nothing that could finish.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
seealso:
  - module: gaudi3.scale.hpu_qualify
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Read the state of the tests
  gaudi3.scale.hpu_qualify_info:
  register: qualified
  become: true
"""

RETURN = r"""
state:
  description:
    - V(absent), V(running), V(ended), or V(interrupted) if the run was interrupted and the next one resumes it.
  returned: always
  type: str
level:
  description: Requested level. Empty when absent.
  returned: always
  type: str
release:
  description: Requested release.
  returned: always
  type: str
generation:
  description: Generation of the cards.
  returned: always
  type: str
current:
  description: "Running test. Empty: none."
  returned: always
  type: str
done:
  description: Number of finished tests.
  returned: always
  type: int
total:
  description: Total number of tests.
  returned: always
  type: int
tests:
  description:
    - Each finished test, with C(test), C(stage), C(state) (V(passed), V(failed) or V(unknown)), C(reasons), C(remarks),
      C(seconds), and for a failed test C(action) (V(isolate), V(reboot), V(reset) or V(watch)).
    - C(limit) is the timeout in seconds of a test that was stopped by it and is V(unknown); else V(0).
  returned: always
  type: list
  elements: dict
left_out:
  description: Each test of the level that is skipped here, and why.
  returned: always
  type: dict
verdict:
  description:
    - Once all tests are finished, C(state) (V(healthy), V(unhealthy) or V(inconclusive)), C(level), C(release),
      C(time) in UTC and C(reasons). Empty before that.
  returned: always
  type: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.files import Files
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.state import look


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={"wait": {"type": "bool", "default": False}, "timeout": {"type": "int", "default": 600}},
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    """Look, and report."""
    wait = options["wait"] and not module.check_mode
    return look(wait, options["timeout"], run_process, Files())


if __name__ == "__main__":
    main()
