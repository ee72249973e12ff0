#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade_outcome
short_description: Record the outcome of a node's upgrade
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Makes a state of what the tasks of an upgrade returned for a node, and says what follows from it.
  - Runs on the controller; nothing is sent to the node.
options:
  event:
    description:
      - V(arrived) is that the node is at the release and fit for work; V(failed) that a task on the way has failed.
      - V(rolled_back) and V(not_rolled_back) are how going back ended.
      - V(not_resumed) is that its scheduler did not take the node back.
    type: str
    required: true
    choices: [arrived, failed, rolled_back, not_rolled_back, not_resumed]
  release:
    description: The release that was wanted. With V(arrived) and V(failed).
    type: str
    default: ""
  answer:
    description: What the node's facts returned. With V(failed).
    type: dict
    default: {}
  before:
    description: What M(gaudi3.scale.hpu_driver) foresaw in check mode. With V(arrived) and V(failed).
    type: dict
    default: {}
  driver:
    description: What M(gaudi3.scale.hpu_driver) returned last. With V(arrived) and V(failed).
    type: dict
    default: {}
  at_release:
    description: Whether the driver of the release is there. With V(failed).
    type: bool
    default: false
  failure:
    description: The result of the task that failed.
    type: dict
    default: {}
  so_far:
    description: What this module returned last. With V(rolled_back), V(not_rolled_back) and V(not_resumed).
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Does the same, and never asks to go back.
  diff_mode:
    support: none
    description: Nothing is changed.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Record the outcome
  gaudi3.scale.upgrade_outcome:
    event: failed
    release: 1.24.1
    before: "{{ foreseen }}"
    failure: "{{ ansible_failed_result }}"
  register: upgraded
"""

RETURN = r"""
state:
  description:
    - C(upgraded), C(downgraded), C(installed) and C(unchanged) are at the release and fit for work.
    - C(unfit) is at the release and not fit for work; C(rolled_back) is back at the release it had.
    - C(refused) was not touched; C(failed), C(unreachable) and C(drained) need a look.
  type: str
  returned: success
  sample: upgraded
release:
  description: The release that was wanted.
  type: str
  returned: success
  sample: 1.24.1
from:
  description: The release that the node had.
  type: str
  returned: success
  sample: 1.23.0-695
to:
  description: What the node has now, or should have.
  type: str
  returned: success
  sample: 1.24.1-482
reason:
  description: A sentence about what went wrong, or what was not started again.
  type: str
  returned: success
roll_back:
  description: Whether the node should go back to the release it had.
  type: bool
  returned: success
resume:
  description: Whether the node may be given back to its scheduler.
  type: bool
  returned: success
"""
