#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: qualification_outcome
short_description: Store the verdict of a qualification on a node
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Writes C(/var/lib/gaudi3_scale/qualify/outcome.json), with the time of the node's clock.
    M(gaudi3.scale.node_quarantine) reads it before it returns the node to service.
  - Results of the node's self-test alone are in M(gaudi3.scale.hpu_qualify_info).
options:
  state:
    description: Verdict.
    type: str
    required: true
    choices: [healthy, unhealthy, inconclusive]
  level:
    description: Level of the qualification.
    type: str
    required: true
  stages:
    description: Stages that the node has passed.
    type: list
    elements: str
    required: true
  reasons:
    description: Why the node is not healthy.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
    description: Reports what would be stored.
  diff_mode:
    support: full
    description: Shows the verdict before and after.
seealso:
  - module: gaudi3.scale.node_qualification
  - module: gaudi3.scale.node_quarantine
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Store the verdict on the node
  gaudi3.scale.qualification_outcome:
    state: healthy
    level: quick
    stages: [self_test, compute, collectives, pairs, ring]
  become: true
"""

RETURN = r"""
outcome:
  description: Stored verdict, with its C(time) in UTC.
  type: dict
  returned: success
  sample:
    state: healthy
    level: quick
    stages: [self_test, compute, collectives, pairs, ring]
    reasons: []
    time: "2026-11-25T03:12:44Z"
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.outcome import keep
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.results import (
    HEALTHY,
    INCONCLUSIVE,
    UNHEALTHY,
)


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "state": {"type": "str", "required": True, "choices": [HEALTHY, UNHEALTHY, INCONCLUSIVE]},
            "level": {"type": "str", "required": True},
            "stages": {"type": "list", "elements": "str", "required": True},
            "reasons": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )


def answer(found: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    """Keep it."""
    return keep(found, module.check_mode)


if __name__ == "__main__":
    main()
