#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: firmware_outcome
short_description: Record the outcome of a node's firmware update
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Makes a state of what the tasks that write a node's firmware returned.
  - Runs on the controller; nothing is sent to the node.
options:
  event:
    description:
      - V(begun) is that the next task writes; V(ended) that all tasks have ended; V(failed) that one has failed.
      - V(not_resumed) is that its scheduler did not take the node back.
    type: str
    required: true
    choices: [begun, ended, failed, not_resumed]
  result:
    description: What M(gaudi3.scale.hpu_firmware) returned last. With V(ended) and V(failed).
    type: dict
    default: {}
  failure:
    description: The result of the task that failed. With V(failed) and V(not_resumed).
    type: dict
    default: {}
  so_far:
    description: What this module returned last. With V(failed).
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Says what would be written.
  diff_mode:
    support: none
    description: Nothing is changed.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Record the outcome
  gaudi3.scale.firmware_outcome:
    event: ended
    result: "{{ gaudi_firmware_result }}"
  register: outcome
"""

RETURN = r"""
state:
  description:
    - C(written), in check mode C(would be written); C(power cycle needed); C(refused), where nothing was
      touched; C(failed); C(unreachable); C(unchanged).
  type: str
  returned: success
  sample: written
reason:
  description: A sentence about what went wrong, or empty.
  type: str
  returned: success
"""
