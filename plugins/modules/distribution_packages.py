#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: distribution_packages
short_description: Install missing distribution packages
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Installs missing packages with apt or dnf, in one transaction. Installed packages keep their version.
  - Uses the node's current package lists and refreshes them only if they are not sufficient. So a node that has all
    packages does not fail when its mirrors are unreachable.
options:
  names:
    description: Package names on this node's system.
    type: list
    elements: str
    default: []
  system_packages:
    description: Packages in addition to O(names), by the system of the node.
    type: dict
    default: {}
    suboptions:
      ubuntu:
        description: On Ubuntu, where they differ from Debian.
        type: list
        elements: str
      apt:
        description: On Debian and Ubuntu.
        type: list
        elements: str
      dnf:
        description: On RHEL and its derivatives.
        type: list
        elements: str
  refresh:
    description: Whether to refresh the package lists first.
    type: bool
    default: false
  starts:
    description:
      - Whether services of new packages may start at once, as is Debian's default. Use V(false) for services that would
        listen on all networks before they are configured. A site policy in C(/usr/sbin/policy-rc.d) stays in place.
    type: bool
    default: true
  lock_timeout:
    description: Seconds to wait for another package manager to finish.
    type: int
    default: 300
attributes:
  check_mode:
    support: full
    description: Reports what is missing.
  diff_mode:
    support: none
    description: No file to show.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Install the exporter without starting it
  gaudi3.scale.distribution_packages:
    names: [prometheus-node-exporter]
    starts: false
  become: true
"""

RETURN = r"""
installed:
  description: Packages that were missing.
  type: list
  elements: str
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._node.option_forms import check_package
from ansible_collections.gaudi3.scale.plugins.module_utils._node.os_release import SYSTEMS, of_system
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.distribution import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.node_packages import of_node

FORMS = {"names": check_package, **{f"system_packages.{system}": check_package for system in SYSTEMS}}


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        forms=FORMS,
        argument_spec={
            "names": {"type": "list", "elements": "str", "default": []},
            "system_packages": {
                "type": "dict",
                "default": {},
                "options": {system: {"type": "list", "elements": "str"} for system in SYSTEMS},
            },
            "refresh": {"type": "bool", "default": False},
            "starts": {"type": "bool", "default": True},
            "lock_timeout": {"type": "int", "default": 300},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    """Install what is missing, and report."""
    options["names"] += of_system(options.pop("system_packages")) or []
    return converge(system=of_node(run_process), check_mode=module.check_mode, **options)


if __name__ == "__main__":
    main()
