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
  - C(launch_training.yml) refuses to launch a job on a node in quarantine, with the reason. If the job has a spare or
    C(gaudi_training_min_nodes), the launch proceeds without the node and says why. The same holds for
    C(measure_collectives.yml). Running jobs continue, and the node can be qualified and repaired like any other.
  - The quarantine mark is C(/etc/gaudi3_scale/quarantine.json). A node that already has one keeps its first reason,
    time and owner.
options:
  state:
    description:
      - V(quarantined) sets the mark.
      - V(returned) removes it if C(qualify_nodes.yml) has since found the node healthy, together with other nodes.
        Otherwise it fails with the reason, and the mark stays.
      - V(released) removes it unconditionally.
    type: str
    choices: [quarantined, returned, released]
    default: quarantined
  reason:
    description: Reason, for people.
    type: str
    default: no reason given
  owner:
    description:
      - Owner of the quarantine, such as a person, a ticket or an alert rule, in one word.
      - "With V(returned) and V(released), only this owner's mark is removed, so that a program does not lift a
        quarantine that a person has set. Empty: any owner's."
    type: str
    default: ""
  hours:
    description: "Hours after which the mark expires automatically and launches use the node again. V(0): never."
    type: float
    default: 0
attributes:
  check_mode:
    support: full
    description: Reports what would change.
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
  description: "Reason of the quarantine. Empty: none."
  type: str
  returned: success
  sample: GaudiCardLost on 0000:33:00.0
since:
  description: "Start of the quarantine, in UTC. Empty: none."
  type: str
  returned: success
  sample: "2026-11-25T03:12:44Z"
until:
  description: "When it expires automatically, in UTC. Empty: never."
  type: str
  returned: success
  sample: "2026-11-26T03:12:44Z"
owner:
  description: "Owner of the quarantine. Empty: none."
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
