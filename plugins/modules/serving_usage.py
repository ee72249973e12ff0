#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: serving_usage
short_description: Report the tokens that an instance answered in a period, and the energy of its cards
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Reads the data that the collector of M(gaudi3.scale.hpu_exporter) keeps for five weeks, one line per minute.
options:
  name:
    description: Name of the instance.
    type: str
    required: true
  begin:
    description: Start of the period, in seconds since 1970.
    type: float
    required: true
  end:
    description: End of the period, in seconds since 1970.
    type: float
    required: true
attributes:
  check_mode:
    support: full
    description: Read-only.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Read what the instance answered in a day
  gaudi3.scale.serving_usage:
    name: chat
    begin: 1785880800
    end: 1785967200
  become: true
  register: used
"""

RETURN = r"""
model:
  description: Served name.
  returned: success
  type: str
prompt_tokens:
  description: Tokens of prompts.
  returned: success
  type: float
generated_tokens:
  description: Generated tokens.
  returned: success
  type: float
known_seconds:
  description: Seconds of the period in which the tokens are known.
  returned: success
  type: float
cards:
  description: Cards of the instance.
  returned: success
  type: int
node_cards:
  description: Cards of the node.
  returned: success
  type: int
joules:
  description: Energy of the instance's cards.
  returned: success
  type: float
gap_seconds:
  description: Seconds without power data, over its cards.
  returned: success
  type: float
card_seconds:
  description: Length of the period times the number of its cards, 0 if their energy was never recorded.
  returned: success
  type: float
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._cost.serving import served
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import kernel_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "name": {"type": "str", "required": True},
            "begin": {"type": "float", "required": True},
            "end": {"type": "float", "required": True},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], _module: AnsibleModule) -> dict[str, Any]:
    """Read both logs."""
    return {"changed": False, **served(options["name"], options["begin"], options["end"], kernel_tree())}


if __name__ == "__main__":
    main()
