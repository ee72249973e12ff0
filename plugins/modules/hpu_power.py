#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: hpu_power
short_description: Set the power limit of a node's Gaudi cards
version_added: "1.0.0"
description:
  - Reads the power limit of each card, sets it with C(hl-smi -i ADDRESS -p WATTS) if it differs, and reads it back. A
    card that did not accept it fails the task and is named; the others keep their new limit.
  - The limit applies to the card's 54 V rail. It limits power and sets no clock.
  - Invalid requests are refused before a card is changed - a limit outside the cards' range, a card that does not
    exist, a card in use by a process.
options:
  watts:
    description: Power limit of each card, in W.
    type: int
    required: true
  cards:
    description: "Module ids of the cards to set. Empty: all cards of the node."
    type: list
    elements: int
    default: []
  range:
    description:
      - "Minimum and maximum of O(watts), in W, as two numbers. Empty: what the cards report through HLML, or the known
        range of their generation."
      - For Gaudi 3 it is known, 450 to 850 W, and a range here must be within it. For other generations none is
        published, so if HLML cannot be read take it from the vendor's document for the board.
    type: list
    elements: int
    default: []
  while_busy:
    description:
      - Whether to set cards that a process is using. A lower limit slows running training, and all ranks that wait for
        these cards.
    type: bool
    default: false
notes:
  - It is unverified whether a limit survives a driver reload, a card reset or a reboot. Nothing is published about it,
    so run this module again after any of them.
  - Never run on a real card. Earlier manuals of C(hl-smi) say that C(-p) works only with security disabled; the current
    one does not.
attributes:
  check_mode:
    support: full
    description: Sets nothing. Everything that would be refused is refused.
  diff_mode:
    support: full
    description: Shows the limit of each card before and after.
seealso:
  - module: gaudi3.scale.hpu_info
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Limit each card to 600 W
  gaudi3.scale.hpu_power:
    watts: 600
  become: true

- name: Limit two cards of another generation, as the vendor's document for that board specifies
  gaudi3.scale.hpu_power:
    watts: 500
    cards: [2, 3]
    range: [400, 600]
  become: true
"""

RETURN = r"""
watts:
  description: Requested limit in W.
  type: int
  returned: success, or if a card did not accept the limit
  sample: 600
cards:
  description: Cards that were selected, by module id.
  type: list
  elements: dict
  returned: success, or if a card did not accept the limit
  contains:
    pci_address:
      description: PCI address of the card.
      type: str
    module_id:
      description: Module id. Null if no driver is bound to the card.
      type: int
    generation:
      description: Generation of the card. Null if not known.
      type: str
      sample: gaudi3
    before:
      description: Previous limit in W. Null if none was reported.
      type: int
      sample: 850
    after:
      description: Current limit in W, or the expected limit in check mode.
      type: int
      sample: 600
    taken:
      description: Whether this is the requested limit.
      type: bool
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import kernel_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._power.plan import PowerOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._power.state import converge


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "watts": {"type": "int", "required": True},
            "cards": {"type": "list", "elements": "int", "default": []},
            "range": {"type": "list", "elements": "int", "default": []},
            "while_busy": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    options = PowerOptions(**given)
    return converge(options, run_process, module.check_mode, kernel_tree())


if __name__ == "__main__":
    main()
