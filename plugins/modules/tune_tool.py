#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: tune_tool
short_description: Prepare a node for a tuning study
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Used only by the role P(gaudi3.scale.gaudi_tune#role).
  - Installs the tuning requirements into an environment, or creates the certificates of a study's nodes, with the
    programs of that environment and as root. An environment that accounts other than root can change is refused.
options:
  venv:
    description: Environment with the node library.
    type: path
    required: true
  do:
    description: Action to perform.
    type: str
    choices: [install, credentials]
    required: true
  directory:
    description: Directory of the certificates. For O(do=credentials).
    type: path
  address:
    description: Address of the node that hosts the study. For O(do=credentials).
    type: str
  seconds:
    description: Seconds that the certificates must remain valid. For O(do=credentials).
    type: float
  owner:
    description: Account that may read the certificates. For O(do=credentials).
    type: str
attributes:
  check_mode:
    support: full
    description: With O(do=install) reports whether something would be installed; certificates are not checked.
  diff_mode:
    support: none
    description: Keys are not shown.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Install the tuning requirements
  gaudi3.scale.tune_tool:
    venv: /opt/gaudi3_scale/venv
    do: install
  become: true
"""

RETURN = r"""
made:
  description: Whether packages were installed or certificates created, or packages would be installed.
  type: bool
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.job_user import check_user
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._tune.tool import Certificates, Tool

OF_CREDENTIALS = ["directory", "address", "seconds", "owner"]


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "venv": {"type": "path", "required": True},
            "do": {"type": "str", "choices": ["install", "credentials"], "required": True},
            "directory": {"type": "path"},
            "address": {"type": "str"},
            "seconds": {"type": "float"},
            "owner": {"type": "str"},
        },
        required_if=[("do", "credentials", OF_CREDENTIALS)],
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    """Do it, and report."""
    if given["owner"] is not None:
        check_user(given["owner"], "owner")
    tool = Tool(given["venv"], run_process, module.check_mode)
    is_new = (
        tool.install()
        if given["do"] == "install"
        else tool.certify(Certificates(*(given[name] for name in OF_CREDENTIALS)))
    )
    return {"changed": is_new, "made": is_new}


if __name__ == "__main__":
    main()
