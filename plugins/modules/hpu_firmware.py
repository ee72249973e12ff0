#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_firmware
short_description: Show the SPI firmware of the Gaudi cards, and write an accepted one
version_added: "1.0.0"
description:
  - Shows the SPI firmware of every card. Writes it only when O(state=flashed) and O(accept) names the target in full
    for this hardware.
  - Compares every card, not one. A text that is no SPI version is never taken for one, and its node is refused.
  - Never writes a card twice. What was written is kept in C(/var/lib/gaudi3_scale/firmware.json); a card that still
    shows its old version is named as waiting for its power cycle.
  - Unloads the modules in the order of the loaded release, has C(hl-fw-loader) show every card, writes card by card
    with it, loads the modules again, and compares all cards. Refuses while a process holds a card.
  - When something fails before the first card is written, the driver is loaded again.
  - C(hl-fw-loader) runs in the unit C(gaudi3-scale-firmware.service). Neither a lost connection nor O(flash_timeout)
    ends it, and an orderly shutdown waits for it.
  - When a card fails, no other is written, the modules stay unloaded, and the sentence says what not to do.
  - Power cycles and reboots are asked for and not done.
options:
  state:
    description:
      - V(shown) changes nothing.
      - V(flashed) brings all cards to the target in O(accept).
    type: str
    choices: [shown, flashed]
    default: shown
  accept:
    description:
      - The SPI version that the operator wants on the cards, from a generation (V(gaudi2), V(gaudi3)) to the version in
        full, for example V(1.22.0-fw-61.3.2-sec-3).
      - Blanks around it do not count. Anything else that is not of this form is refused, as is the version of another
        generation.
    type: dict
    default: {}
  release:
    description: Release of the Gaudi software, whose published firmware is shown beside that of the cards.
    type: str
    required: true
  release_overrides:
    description: Rows that replace or add releases, from a version to the fields of a release such as C(build).
    type: dict
    default: {}
  image:
    description:
      - Path of the image on the node. That of the package C(habanalabs-firmware) when empty.
      - An image that names another version than the accepted one is refused. One that names none is warned about.
    type: path
    default: ""
  write_protection_command:
    description:
      - Command that asks the site's BMC whether the cards' flash is write protected, program and arguments. It is run
        on the node, before anything is touched. There is no command that fits every chassis.
      - Exit 0 means writable, 1 protected. Any other end is unknown, and refused like protected.
      - Nothing is asked when empty.
    type: list
    elements: str
    default: []
  cards:
    description: How many cards the node must have. Not compared when V(0).
    type: int
    default: 0
  flash_again:
    description:
      - Whether a card may be written again that was written to the target, has seen another boot since, and still shows
        its old version. Set it only after a power cycle that did not help.
    type: bool
    default: false
  flash_timeout:
    description: Seconds to wait for one card. The tool is not ended after them, the module only stops waiting.
    type: int
    default: 7200
  settle_timeout:
    description: Seconds that the cards may take to become operational after the modules are loaded.
    type: int
    default: 600
  lock_timeout:
    description: Seconds to wait for another run that changes the node's driver or firmware.
    type: int
    default: 300
attributes:
  check_mode:
    support: full
    description: Nothing is unloaded or written. Everything that would be refused is refused.
  diff_mode:
    support: full
    description: Shows the version of each card before and after.
seealso:
  - module: gaudi3.scale.hpu_driver
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Show the firmware of the cards
  gaudi3.scale.hpu_firmware:
    release: 1.24.1

- name: Write one accepted version on the Gaudi 3 nodes of the play
  gaudi3.scale.hpu_firmware:
    release: 1.23.0
    state: flashed
    accept:
      gaudi3: 1.22.0-fw-61.3.2-sec-3
    write_protection_command: [/usr/local/sbin/ask-bmc, spi-write-protect]
"""

RETURN = r"""
generation:
  description: Generation of the cards. Null without cards, and where generations are mixed.
  type: str
  returned: success
  sample: gaudi3
target:
  description: The accepted version for this generation, null where none is accepted.
  type: str
  returned: success
  sample: 1.22.0-fw-61.3.2-sec-3
cards:
  description: The cards, by module id.
  type: list
  elements: dict
  returned: success
  contains:
    pci_address:
      description: Where the card is.
      type: str
    module_id:
      description: Module id, null where no driver reports it.
      type: int
    serial:
      description: Serial number, null where no driver reports it.
      type: str
    board:
      description: Kind of card.
      type: str
    before:
      description: The SPI version that the card showed. A text in quotes is no SPI version.
      type: str
    after:
      description: The SPI version that it shows now.
      type: str
    needed:
      description: C(current), C(flash), C(power cycle needed), C(unreadable) or C(no target), before.
      type: str
    verdict:
      description: The same now.
      type: str
equal:
  description: Whether all cards show the same version. Null where one cannot be read.
  type: bool
  returned: success
outstanding:
  description: Whether O(accept) names a target for these cards and something is to be done, or refused, on the way.
  type: bool
  returned: success
published:
  description: The version that the vendor's own recipe of O(release) flashes, null where it is not known.
  type: str
  returned: success
steps:
  description: What was done, or would be in check mode, in order.
  type: list
  elements: str
  returned: success
  sample: ["unload habanalabs_ib habanalabs_en", "flash 0000:33:00.0"]
written:
  description: PCI addresses of the cards that were written.
  type: list
  elements: str
  returned: success
power_cycle_needed:
  description: PCI addresses of the cards that were written and still show their old version.
  type: list
  elements: str
  returned: success
interrupted:
  description: Whether an earlier run was found that did not come to its end.
  type: bool
  returned: success
reasons:
  description: Why nothing was written, a clause each.
  type: list
  elements: str
  returned: when refused
log:
  description: Path of the tool's output.
  type: str
  returned: when a card could not be written
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._firmware import state as card_firmware_state
from ansible_collections.gaudi3.scale.plugins.module_utils._firmware.plan import FirmwareOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._node.option_forms import check_place

# A word of a unit that writes a card.
FORMS = {"image": check_place}


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        forms=FORMS,
        argument_spec={
            "state": {"type": "str", "choices": ["shown", "flashed"], "default": "shown"},
            "accept": {"type": "dict", "default": {}},
            "release": {"type": "str", "required": True},
            "release_overrides": {"type": "dict", "default": {}},
            "image": {"type": "path", "default": ""},
            "write_protection_command": {"type": "list", "elements": "str", "default": []},
            "cards": {"type": "int", "default": 0},
            "flash_again": {"type": "bool", "default": False},
            "flash_timeout": {"type": "int", "default": 7200},
            "settle_timeout": {"type": "int", "default": 600},
            "lock_timeout": {"type": "int", "default": 300},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    options = FirmwareOptions(**given)
    return card_firmware_state.converge(options, run_process, module.check_mode)


if __name__ == "__main__":
    main()
