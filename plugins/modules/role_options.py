#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: role_options
short_description: Refuse variables that begin as a role's options do and are none of them
version_added: "1.0.0"
description:
  - Fails with one sentence for each variable of the host whose name begins with that of the role and is no option of
    it, so that a misspelt option is not a default in silence. The sentence has the nearest name that exists.
  - It is the first task of every role of this collection. Outside of a role it looks at the options of all roles at
    once, as the first playbook of C(site.yml) does before anything is touched.
  - Names that begin with that of a role are the role's; what it registers under them, and what roles whose names begin
    alike know, is not refused.
  - Looks at names only, never at values. Runs on the controller; nothing is sent to the node.
options:
  all_roles:
    description: Whether the options of all roles are looked at in a role too, such as one that applies several others.
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
- name: Refuse options that the role does not know
  gaudi3.scale.role_options:

- name: Refuse misspelt options before any of the roles begins
  hosts: gaudi
  gather_facts: false
  tasks:
    - name: Refuse options that no role knows
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
