# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: rollout
short_description: Make the decisions of a driver or firmware rollout from the nodes' registered results
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - A rollout has three decisions, each of which is an O(step).
  - Runs on the controller and contacts no node.
options:
  of:
    description: Subject of the rollout.
    type: str
    required: true
    choices: [driver, firmware]
  step:
    description:
      - V(rounds) orders O(hosts) into rounds in which their cards may be flashed. One host is the first round alone.
        Then racks are processed in parallel, each host by host. A host's rack is its variable C(gaudi_rack); all hosts
        without one form one rack. Rounds contain only hosts with work to do, so the first round is one that really
        flashes. With O(of=firmware) only.
      - V(outcome) derives one node's state from the results of its tasks, and what to do next.
      - V(batch) evaluates the states of all O(hosts) and decides whether to stop before the remaining nodes. A driver
        rollout stops if the canary or too many nodes are unhealthy. A firmware rollout stops if the first batch that
        flashes failed; later an unhealthy node stops no other.
    type: str
    required: true
    choices: [rounds, outcome, batch]
  hosts:
    description: Inventory names of the hosts of the run. Required with O(step=rounds) and O(step=batch).
    type: list
    elements: str
  registered:
    description:
      - Name of the host variable with the input of the step. Required with O(step=rounds), for the result of
        M(gaudi3.scale.hpu_firmware), and with O(step=batch), for the result of O(step=outcome).
    type: str
  canary:
    description:
      - Node that goes first. The first of O(hosts) if empty, and with O(step=rounds) also if the canary has no work to
        do. With O(step=rounds), and with O(step=batch) and O(of=driver).
    type: str
    default: ""
  max_fail_percentage:
    description: "Percentage of O(hosts) that may fail. Empty: a tenth, at least one. With O(step=batch) of the driver."
    type: raw
    default: ""
  event:
    description:
      - What happened to the node. Required with O(step=outcome).
      - Of the driver, V(arrived) means that the node is at the release and fit for work, V(failed) that a task has
        failed, and V(rolled_back) and V(not_rolled_back) how the rollback ended.
      - Of the firmware, V(begun) means that the next task flashes, V(ended) that all tasks have finished, and V(failed)
        that one has failed.
      - V(not_resumed) means that the scheduler did not resume the node.
    type: str
    choices: [arrived, begun, ended, failed, not_resumed, not_rolled_back, rolled_back]
  release:
    description: Wanted release. With V(arrived) and V(failed) of the driver.
    type: str
    default: ""
  answer:
    description: Result of gathering the node's facts. With V(failed) of the driver.
    type: dict
    default: {}
  before:
    description: What M(gaudi3.scale.hpu_driver) predicted in check mode. With V(arrived) and V(failed) of the driver.
    type: dict
    default: {}
  result:
    description:
      - Last result of M(gaudi3.scale.hpu_driver) or M(gaudi3.scale.hpu_firmware). With V(arrived), V(ended) and
        V(failed).
    type: dict
    default: {}
  at_release:
    description: Whether the driver is at the release. With V(failed) of the driver.
    type: bool
    default: false
  failure:
    description: Result of the failed task.
    type: dict
    default: {}
  so_far:
    description:
      - Last result of O(step=outcome). With V(rolled_back), V(not_rolled_back) and V(not_resumed) of the driver, and
        V(failed) of the firmware.
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Runs as usual. It never requests a rollback, and reports what would be flashed.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
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

- name: Record the node's result
  gaudi3.scale.rollout:
    of: driver
    step: outcome
    event: failed
    release: 1.24.1
    before: "{{ foreseen }}"
    failure: "{{ ansible_failed_result }}"
  register: upgraded

- name: Decide whether to upgrade the remaining nodes
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
      C(unfit) is at the release and not fit for work; C(rolled_back) is back at the previous release; C(refused) was
      not touched; C(failed), C(unreachable) and C(drained) need attention.
    - Of the firmware, C(written), in check mode C(would be written); C(power cycle needed); C(refused), if nothing was
      touched; C(failed); C(unreachable); C(unchanged).
  type: str
  returned: with O(step=outcome)
  sample: upgraded
reason:
  description: "What went wrong, or what was not started again. Empty: none."
  type: str
  returned: with O(step=outcome)
release:
  description: Wanted release.
  type: str
  returned: with O(step=outcome) and O(of=driver)
  sample: 1.24.1
from:
  description: Previous release of the node.
  type: str
  returned: with O(step=outcome) and O(of=driver)
  sample: 1.23.0-695
to:
  description: Release that the node has now, or should have.
  type: str
  returned: with O(step=outcome) and O(of=driver)
  sample: 1.24.1-482
roll_back:
  description: Whether to roll the node back to its previous release.
  type: bool
  returned: with O(step=outcome) and O(of=driver)
resume:
  description: Whether the scheduler may resume the node.
  type: bool
  returned: with O(step=outcome) and O(of=driver)
stop:
  description: Whether to leave the remaining nodes alone.
  type: bool
  returned: with O(step=batch)
sick:
  description: Processed nodes that are not at the release.
  type: list
  elements: str
  returned: with O(step=batch) and O(of=driver)
rounds:
  description: Rounds in order, each a list of hosts.
  type: list
  elements: list
  returned: with O(step=rounds)
  sample: [[node1], [node2, node3]]
hosts:
  description:
    - Hosts of all rounds in order, for C(hosts) of a play.
    - If there are none, a pattern that matches no host.
  type: list
  elements: str
  returned: with O(step=rounds)
  sample: [node1, node2, node3]
sizes:
  description: Number of hosts per round, for C(serial) of a play.
  type: list
  elements: int
  returned: with O(step=rounds)
  sample: [1, 2]
"""
