#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: job_account
short_description: Create the job account and give it access to the cards
version_added: "1.0.0"
description:
  - Creates a system account without a password, and a group of the same name, if the account does not exist on the
    node.
  - An existing account, also one of a directory service, keeps its UID, home and shell, and is added to the groups.
  - An account with a UID other than the requested one is refused, not changed.
options:
  user:
    description: Name of the account.
    type: str
    required: true
  uid:
    description: "UID and GID of the account, the same on all nodes. V(0): chosen by each node."
    type: int
    default: 0
  groups:
    description: Groups that own the cards' devices. The account is added to those that exist on the node.
    type: list
    elements: str
    default: [render, video]
  home:
    description:
      - Home of a new account, created with its parent directories. By default a directory of its name in C(/var/lib).
    type: path
  shell:
    description: Login shell of a new account. By default login is disabled.
    type: path
attributes:
  check_mode:
    support: full
    description: Nothing is created or added. RV(uid) is null if the node would choose it.
  diff_mode:
    support: full
    description: Shows the account before and after.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Create the default job account
  gaudi3.scale.job_account:
    user: gaudi

- name: Create the account with the same UID on all nodes and with a shell for the engine mpirun
  gaudi3.scale.job_account:
    user: gaudi
    uid: 900
    shell: /bin/bash

- name: Give an account of the directory service access to the cards
  gaudi3.scale.job_account:
    user: svc-train
    groups: [habana]
"""

RETURN = r"""
user:
  description: Name of the account.
  type: str
  returned: success
uid:
  description: UID. Null in check mode if the node would choose it.
  type: int
  returned: success
home:
  description: Home directory.
  type: str
  returned: success
  sample: /var/lib/gaudi
shell:
  description: Login shell.
  type: str
  returned: success
  sample: /usr/sbin/nologin
groups:
  description: Groups in O(groups) that the account belongs to.
  type: list
  elements: str
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._job.account import AccountOptions, converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._node.option_forms import check_account_field, check_group

FORMS = {"home": check_account_field, "shell": check_account_field, "groups": check_group}


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        forms=FORMS,
        argument_spec={
            "user": {"type": "str", "required": True},
            "uid": {"type": "int", "default": 0},
            "groups": {"type": "list", "elements": "str", "default": ["render", "video"]},
            "home": {"type": "path"},
            "shell": {"type": "path"},
        },
        supports_check_mode=True,
    )


def answer(wishes: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    options = AccountOptions(**{name: value for name, value in wishes.items() if value is not None})
    return converge(options, run_process, module.check_mode)


if __name__ == "__main__":
    main()
