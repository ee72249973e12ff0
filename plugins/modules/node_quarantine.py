#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: node_quarantine
short_description: Quarantine a node, or release it
version_added: "1.0.0"
description:
  - A launch of C(launch_training.yml) that names a node with the mark is refused with the reason. Where the job has a
    spare or C(gaudi_training_min_nodes), it continues without the node and says why. So it is
    with C(measure_collectives.yml). Jobs that run go on, and the node can be qualified and repaired as any other.
  - The mark is C(/etc/gaudi3_scale/quarantine.json). A node that has one keeps its first reason, time and owner.
options:
  state:
    description:
      - V(quarantined) makes the mark.
      - V(returned) takes it away where C(qualify_nodes.yml) has found the node healthy since, together with other
        nodes. Else it fails with the reason, and the mark stays.
      - V(released) takes it away in any case.
    type: str
    choices: [quarantined, returned, released]
    default: quarantined
  reason:
    description: Why, in words for people.
    type: str
    default: no reason given
  owner:
    description:
      - Who takes the node out, such as a person, a ticket, or the rule of an alert, in one word.
      - With V(returned) and V(released), whose mark alone is taken away, so that a program does not lift what a person
        has set. Anybody's when empty.
    type: str
    default: ""
  hours:
    description: After so many hours the mark ends automatically, and launches take the node again. Never with V(0).
    type: float
    default: 0
attributes:
  check_mode:
    support: full
    description: Tells what would change.
  diff_mode:
    support: full
    description: Shows the mark before and after.
seealso:
  - module: gaudi3.scale.node_quarantine_info
  - module: gaudi3.scale.node_drain
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Quarantine the node
  gaudi3.scale.node_quarantine:
    reason: card 3 is to be replaced, ticket 4711
    owner: anna

- name: Release the node after it has passed qualify_nodes.yml
  gaudi3.scale.node_quarantine:
    state: returned
"""

RETURN = r"""
quarantined:
  description: Whether the node is in quarantine.
  type: bool
  returned: success
  sample: true
reason:
  description: Why, empty where it is not.
  type: str
  returned: success
  sample: GaudiCardLost on 0000:33:00.0
since:
  description: Since when, in UTC; empty where it is not.
  type: str
  returned: success
  sample: "2026-11-25T03:12:44Z"
until:
  description: When it ends automatically, in UTC; empty where it does not.
  type: str
  returned: success
  sample: "2026-11-26T03:12:44Z"
owner:
  description: Whose it is; empty where nobody was named.
  type: str
  returned: success
  sample: alerts
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._quarantine.mark import (
    QUARANTINED,
    RELEASED,
    RETURNED,
    Wanted,
    converge,
)


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "state": {"type": "str", "choices": [QUARANTINED, RETURNED, RELEASED], "default": QUARANTINED},
            "reason": {"type": "str", "default": "no reason given"},
            "owner": {"type": "str", "default": ""},
            "hours": {"type": "float", "default": 0},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    return converge(Wanted(**options), module.check_mode)


if __name__ == "__main__":
    main()
