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
  - Reads the power limit of each card, sets it by C(hl-smi -i ADDRESS -p WATTS) where it is another one, and reads it
    again. A card that did not take it fails the task by name, and the others keep what they took.
  - The limit is that of the card's 54 V rail. It is one of power and sets no clock.
  - Invalid options are refused before a card is touched - a limit outside the range of the cards, a card that is
    not there, a card on which a process computes.
options:
  watts:
    description: The limit that each card shall have, in W.
    type: int
    required: true
  cards:
    description: Module ids of the cards that are meant. All cards of the node when empty.
    type: list
    elements: int
    default: []
  range:
    description:
      - The least and the most W that O(watts) may be, two numbers. When empty, what the cards report through HLML, or
        what is known of their generation.
      - Of Gaudi 3 it is known, 450 to 850 W, and a range here may only be a part of that. Of other generations nothing
        is published, so if HLML cannot be read the range has to come from the vendor's document for that board.
    type: list
    elements: int
    default: []
  while_busy:
    description:
      - Whether cards are set on which a process computes. A lower limit slows a training that runs, and with it all
        ranks that wait for these cards.
    type: bool
    default: false
notes:
  - Whether a limit survives a reload of the driver, a reset of the card or a reboot is unverified. Nothing is published
    on it, so run it again after one.
  - Never run on a real card. Earlier manuals of C(hl-smi) say of C(-p) that it works only where security is disabled;
    that of today does not.
attributes:
  check_mode:
    support: full
    description: Nothing is set. What would be refused is refused.
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
  description: The limit that was wanted, in W.
  type: int
  returned: success, and where a card did not take it
  sample: 600
cards:
  description: The cards that were meant, by module id.
  type: list
  elements: dict
  returned: success, and where a card did not take it
  contains:
    pci_address:
      description: Where the card is.
      type: str
    module_id:
      description: Module id, null where no driver has the card.
      type: int
    generation:
      description: Generation of the card, null where it is not known.
      type: str
      sample: gaudi3
    before:
      description: The limit that it showed in W, null where it reported none.
      type: int
      sample: 850
    after:
      description: The limit that it shows now, in check mode that it would have.
      type: int
      sample: 600
    taken:
      description: Whether that is the limit that was wanted.
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
