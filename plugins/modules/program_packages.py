#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: program_packages
short_description: Install a program's Python requirements on top of the training stack
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Creates a virtual environment on top of the training stack's environment and installs a requirements file into it.
    The stack's packages are visible in it, and the bundle's PyTorch and the node library are never replaced.
  - The environment is identified by the requirements, the Python and the stack. The same combination is reused without
    changes.
  - pip runs as O(user), because it executes what it builds. The index and the constraints are those of the stack.
  - The roles for training, probes, comparisons and studies use it. The controller runs it on all O(hosts) in parallel,
    so run it with C(run_once).
options:
  hosts:
    description: Inventory names of the nodes. The action plugin runs on each.
    type: list
    elements: str
    default: []
  file:
    description: Requirements file on the controller, which may include others with C(-r). Read by the action plugin.
    type: path
    default: ""
  text:
    description: Content of O(file). Set by the action plugin; do not set it.
    type: str
    default: ""
  venv:
    description: Virtual environment of the training stack.
    type: path
    default: /opt/gaudi3_scale/venv
  user:
    description: Account that runs the program.
    type: str
    default: gaudi
  timeout:
    description: Seconds per command.
    type: int
    default: 3600
attributes:
  check_mode:
    support: full
    description: Refuses what cannot be installed, and reports whether it would be installed.
  diff_mode:
    support: full
    description: Shows the requirements of a new environment.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Install the program's requirements
  gaudi3.scale.program_packages:
    hosts: [gaudi-01, gaudi-02]
    file: my_training/requirements.txt
  register: program
  run_once: true
"""

RETURN = r"""
venv:
  description: Path of the environment, the same on every node.
  returned: success
  type: str
  sample: /opt/gaudi3_scale/environments/gaudi/5f1f3c9a0d4b7e21
requirements:
  description: Lines of the file.
  returned: success
  type: list
  elements: str
  sample: [einops==0.8.1]
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.job_user import DEFAULT_USER
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._venv.program_install import (
    ProgramOptions,
    converge,
)


def main() -> None:
    # The users in the URLs of packages are not shown.
    run_module(
        AnsibleModule,
        answer,
        text=("text",),
        argument_spec={
            "hosts": {"type": "list", "elements": "str", "default": []},
            "file": {"type": "path", "default": ""},
            "text": {"type": "str", "default": ""},
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
            "user": {"type": "str", "default": DEFAULT_USER},
            "timeout": {"type": "int", "default": 3600},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    for name in ("hosts", "file"):
        if options[name]:
            raise GaudiError(f"{name} is read on the controller, by the action plugin; run this as a task.")
    wanted = ProgramOptions(options["venv"], options["text"], options["user"], options["timeout"])
    return converge(wanted, run_process, module.check_mode)


if __name__ == "__main__":
    main()
