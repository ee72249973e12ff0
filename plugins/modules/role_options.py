#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: role_options
short_description: Validate a role's options
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Fails with an error message for each variable of the host that starts with the role's name but is not an option of
    it, so that a misspelled option does not silently leave the default. The message suggests the nearest existing name.
  - In a role it also validates the values against the specification of the role's entry point, as Ansible's automatic
    task before a role does. The playbooks of C(site.yml) skip that task, because each task costs the controller one
    process per host.
  - It is the first task of this collection's roles, except roles that start with a module that does the same on the
    controller. Outside a role it checks the names of all roles at once, as the role C(gaudi_preflight) does before
    anything is changed.
  - Names that start with a role's name belong to that role. Variables that the role registers, and options of roles
    whose names share the prefix, are not refused.
  - Values appear only in the error message that refuses them. Runs on the controller and contacts no node except for
    O(system).
options:
  all_roles:
    description:
      - Whether to check the options of all roles inside a role too, for example in one that applies several others.
    type: bool
    default: false
  system:
    description:
      - Whether to query the node's operating system if it is not known yet, as C(ansible.builtin.setup) with the subset
        V(min) does. This saves the role a task.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Runs as usual; it changes nothing.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Validate the role's options
  gaudi3.scale.role_options:

- name: Validate the options of all roles
  hosts: gaudi
  gather_facts: false
  tasks:
    - name: Validate the options of all roles
      gaudi3.scale.role_options:
"""

RETURN = r"""
roles:
  description: Roles whose options were checked.
  type: list
  elements: str
  returned: success
  sample: [gaudi_driver]
"""
