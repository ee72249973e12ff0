#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: comparison_together
short_description: Choose which helpful settings to compare in combination
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Settings that help alone may help each other, do nothing, or harm. Of what M(gaudi3.scale.hpu_compare_settings)
    found on the nodes this makes the next comparison, all that help on every node together against the best of them.
  - Where two of them change the same thing, the better one's value is taken.
  - Runs on the controller; nothing is sent to the node.
options:
  hosts:
    description: Inventory names of the nodes that compared.
    type: list
    elements: str
    required: true
  compared:
    description: Name of the variable that has what the module returned on each of them.
    type: str
    default: gaudi_compare_result
attributes:
  check_mode:
    support: full
    description: Does the same, since it changes nothing.
  diff_mode:
    support: none
    description: Nothing is changed.
seealso:
  - module: gaudi3.scale.hpu_compare_settings
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Choose the settings to combine
  gaudi3.scale.comparison_together:
    hosts: [node1, node2]
  register: together
  run_once: true
"""

RETURN = r"""
base:
  description:
    - The best setting, as O(gaudi3.scale.hpu_compare_settings#module:base) takes it. Empty where less than two help.
  type: dict
  returned: success
  sample: {batch_size: 32, flags: {}, options: {}}
settings:
  description:
    - All that help together, as O(gaudi3.scale.hpu_compare_settings#module:settings) takes it. Empty where less than
      two help.
  type: list
  elements: dict
  returned: success
  sample: [{name: together, batch_size: 32, flags: {}, options: {precision: bf16}}]
"""
