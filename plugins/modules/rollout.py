# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: rollout
short_description: Decide on a rollout of the driver or of the firmware, from what its nodes have registered
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - A rollout has three decisions, each of which is an O(step).
  - Runs on the controller; nothing is sent to the node.
options:
  of:
    description: What is rolled out.
    type: str
    required: true
    choices: [driver, firmware]
  step:
    description:
      - V(rounds) puts O(hosts) into an order in which the firmware of their cards may be written. One host is the first
        round alone. Then the racks are worked on side by side, each host by host. A host's rack is its variable
        C(gaudi_rack); all hosts without one are in one rack. Only hosts that have something to do are in a round, so
        that the first round is one that really writes. With O(of=firmware) only.
      - V(outcome) makes a state of what the tasks of one node returned, and says what follows from it.
      - V(batch) looks at the states of all O(hosts), and says whether the remaining nodes are to be left alone. Of the
        driver they are where the canary or too many nodes are sick. Of the firmware they are where the first batch that
        writes went wrong; later a sick node stops no other.
    type: str
    required: true
    choices: [rounds, outcome, batch]
  hosts:
    description: Inventory names of the hosts of the run. Required with O(step=rounds) and O(step=batch).
    type: list
    elements: str
  registered:
    description:
      - Name of the variable in which O(hosts) have what the step needs. Required with O(step=rounds), where it is what
        M(gaudi3.scale.hpu_firmware) returned, and with O(step=batch), where it is what O(step=outcome) returned.
    type: str
  canary:
    description:
      - The node that goes first. The first of O(hosts) when empty, and with O(step=rounds) also where it has nothing to
        do. With O(step=rounds), and with O(step=batch) and O(of=driver).
    type: str
    default: ""
  max_fail_percentage:
    description:
      - Nodes that may fail, in per cent of O(hosts). A tenth, and always one, when empty. With O(step=batch) of the
        driver.
    type: raw
    default: ""
  event:
    description:
      - What there is to say of the node. Required with O(step=outcome).
      - Of the driver, V(arrived) is that the node is at the release and fit for work, V(failed) that a task on the way
        has failed, and V(rolled_back) and V(not_rolled_back) are how going back ended.
      - Of the firmware, V(begun) is that the next task writes, V(ended) that all tasks have ended, and V(failed) that
        one has failed.
      - V(not_resumed) is that its scheduler did not take the node back.
    type: str
    choices: [arrived, begun, ended, failed, not_resumed, not_rolled_back, rolled_back]
  release:
    description: The release that was wanted. With V(arrived) and V(failed) of the driver.
    type: str
    default: ""
  answer:
    description: What the node's facts returned. With V(failed) of the driver.
    type: dict
    default: {}
  before:
    description: What M(gaudi3.scale.hpu_driver) foresaw in check mode. With V(arrived) and V(failed) of the driver.
    type: dict
    default: {}
  result:
    description:
      - What M(gaudi3.scale.hpu_driver) or M(gaudi3.scale.hpu_firmware) returned last. With V(arrived), V(ended) and
        V(failed).
    type: dict
    default: {}
  at_release:
    description: Whether the driver of the release is there. With V(failed) of the driver.
    type: bool
    default: false
  failure:
    description: The result of the task that failed.
    type: dict
    default: {}
  so_far:
    description:
      - What O(step=outcome) returned last. With V(rolled_back), V(not_rolled_back) and V(not_resumed) of the driver,
        and V(failed) of the firmware.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Does the same. It never asks to go back, and says what would be written.
  diff_mode:
    support: none
    description: Nothing is changed.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Put the nodes into rounds
  gaudi3.scale.rollout:
    of: firmware
    step: rounds
    hosts: [node1, node2]
    registered: firmware_shown
  register: order
  run_once: true

- name: Record the result
  gaudi3.scale.rollout:
    of: driver
    step: outcome
    event: failed
    release: 1.24.1
    before: "{{ foreseen }}"
    failure: "{{ ansible_failed_result }}"
  register: upgraded

- name: Check whether the other nodes may be upgraded
  gaudi3.scale.rollout:
    of: driver
    step: batch
    hosts: "{{ ansible_play_hosts_all }}"
    registered: upgraded
  register: batch
  run_once: true
"""

RETURN = r"""
state:
  description:
    - Of the driver, C(upgraded), C(downgraded), C(installed) and C(unchanged) are at the release and fit for work;
      C(unfit) is at the release and not fit for work; C(rolled_back) is back at the release it had; C(refused) was not
      touched; C(failed), C(unreachable) and C(drained) need a look.
    - Of the firmware, C(written), in check mode C(would be written); C(power cycle needed); C(refused), where nothing
      was touched; C(failed); C(unreachable); C(unchanged).
  type: str
  returned: with O(step=outcome)
  sample: upgraded
reason:
  description: A sentence about what went wrong, or what was not started again; else empty.
  type: str
  returned: with O(step=outcome)
release:
  description: The release that was wanted.
  type: str
  returned: with O(step=outcome) and O(of=driver)
  sample: 1.24.1
from:
  description: The release that the node had.
  type: str
  returned: with O(step=outcome) and O(of=driver)
  sample: 1.23.0-695
to:
  description: What the node has now, or should have.
  type: str
  returned: with O(step=outcome) and O(of=driver)
  sample: 1.24.1-482
roll_back:
  description: Whether the node should go back to the release it had.
  type: bool
  returned: with O(step=outcome) and O(of=driver)
resume:
  description: Whether the node may be given back to its scheduler.
  type: bool
  returned: with O(step=outcome) and O(of=driver)
stop:
  description: Whether the remaining nodes are to be left alone.
  type: bool
  returned: with O(step=batch)
sick:
  description: Nodes whose turn has come and that are not at the release.
  type: list
  elements: str
  returned: with O(step=batch) and O(of=driver)
rounds:
  description: The rounds in their order, each a list of hosts.
  type: list
  elements: list
  returned: with O(step=rounds)
  sample: [[node1], [node2, node3]]
hosts:
  description:
    - The hosts of all rounds, one after the other, as C(hosts) of a play.
    - A pattern that matches no host where there are none.
  type: list
  elements: str
  returned: with O(step=rounds)
  sample: [node1, node2, node3]
sizes:
  description: How many hosts each round has, as C(serial) of a play.
  type: list
  elements: int
  returned: with O(step=rounds)
  sample: [1, 2]
"""
