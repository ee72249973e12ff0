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
  - Fails with an error message for each variable of the host whose name begins with that of the role and is not an
    option of it, so that a misspelt option is not a default in silence. The sentence has the nearest name that exists.
  - In a role it also holds the values against the specification of the role's entry point, as Ansible's own task before
    a role does. The playbooks of C(site.yml) leave that one out, since each task costs the controller a process a
    host.
  - It is the first task of the roles of this collection, but of those that begin with a module that does the same on
    the controller before it runs. Outside of a role it looks at the names of all roles at once, as the role
    C(gaudi_preflight) does before anything is touched.
  - Names that begin with that of a role are the role's; what it registers under them, and what roles whose names begin
    alike know, is not refused.
  - No value is shown but by the sentence that refuses it. Runs on the controller; nothing is sent to the node but by
    O(system).
options:
  all_roles:
    description: Whether the options of all roles are looked at in a role too, such as one that applies several others.
    type: bool
    default: false
  system:
    description:
      - Whether the node is asked for its operating system where that is not known yet, as C(ansible.builtin.setup) with
        the subset V(min) does. It saves the role a task.
    type: bool
    default: false
attributes:
  check_mode:
    support: full
    description: Does the same, since it changes nothing.
  diff_mode:
    support: none
    description: Nothing is changed.
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
  description: The roles whose options were looked at.
  type: list
  elements: str
  returned: success
  sample: [gaudi_driver]
"""
