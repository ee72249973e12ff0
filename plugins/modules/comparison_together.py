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
  - Settings that help alone can help each other, have no effect, or hurt in combination. From the results of
    M(gaudi3.scale.hpu_compare_settings) on the nodes, this builds the next comparison - all settings that help on every
    node together, against the best of them.
  - If two of them change the same thing, the value of the better one is used.
  - Runs on the controller and contacts no node.
options:
  hosts:
    description: Inventory names of the nodes that ran the comparison.
    type: list
    elements: str
    required: true
  compared:
    description: Host variable with the module's result.
    type: str
    default: gaudi_compare_result
attributes:
  check_mode:
    support: full
    description: Runs as usual; it changes nothing.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
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
    - The best setting, in the format of O(gaudi3.scale.hpu_compare_settings#module:base). Empty if fewer than two help.
  type: dict
  returned: success
  sample: {batch_size: 32, flags: {}, options: {}}
settings:
  description:
    - All helpful settings combined, in the format of O(gaudi3.scale.hpu_compare_settings#module:settings). Empty if
      fewer than two help.
  type: list
  elements: dict
  returned: success
  sample: [{name: together, batch_size: 32, flags: {}, options: {precision: bf16}}]
"""
