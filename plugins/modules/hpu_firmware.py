#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_firmware
short_description: Show the SPI firmware of the Gaudi cards, and flash an accepted version
version_added: "1.0.0"
description:
  - Shows the SPI firmware of every card. Flashes only if O(state=flashed) and O(accept) names the complete target
    version for this hardware.
  - Compares every card, not just one. A node with a card whose version is not a valid SPI version is refused.
  - Never flashes a card twice. Flashed cards are recorded in C(/var/lib/gaudi3_scale/firmware.json); a card that still
    shows its old version is reported as needing a power cycle.
  - Unloads the modules in the order of the loaded release, lists the cards with C(hl-fw-loader), flashes card by card,
    loads the modules again, and compares all cards. Refuses while a process holds a card.
  - If something fails before the first card is flashed, the driver is loaded again.
  - C(hl-fw-loader) runs in the unit C(gaudi3-scale-firmware.service). Neither a lost connection nor O(flash_timeout)
    stops it, and an orderly shutdown waits for it.
  - If a card fails, no other is flashed, the modules stay unloaded, and the error message says what not to do.
  - Power cycles and reboots are requested, never performed.
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
      - Accepted SPI version, as a mapping from generation (V(gaudi2), V(gaudi3)) to the complete version, for example
        V(1.22.0-fw-61.3.2-sec-3).
      - Surrounding whitespace is ignored. Anything else that is not in this format is refused, as is the version of
        another generation.
    type: dict
    default: {}
  release:
    description: Release of the Gaudi software. Its published firmware is shown beside that of the cards.
    type: str
    required: true
  release_overrides:
    description: Rows that replace or add releases, as a mapping from version to fields of a release, such as C(build).
    type: dict
    default: {}
  image:
    description:
      - "Path of the image on the node. Empty: that of the package C(habanalabs-firmware)."
      - An image with another version than the accepted one is refused. An image without a version gives a warning.
    type: path
    default: ""
  write_protection_command:
    description:
      - Command, as program and arguments, that asks the site's BMC whether the cards' flash is write protected. It runs
        on the node before anything is changed. No command fits every chassis.
      - Exit code 0 means writable and 1 protected. Any other result is unknown, and refused like protected.
      - "Empty: write protection is not checked."
    type: list
    elements: str
    default: []
  cards:
    description: "Number of cards that the node must have. V(0): not checked."
    type: int
    default: 0
  flash_again:
    description:
      - Whether to flash a card again that was flashed to the target, has been through another boot since, and still
        shows its old version. Set it only after a power cycle that did not help.
    type: bool
    default: false
  flash_timeout:
    description: Seconds to wait for one card. After that the module stops waiting, but the tool is not stopped.
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
    description: Nothing is unloaded or flashed. Everything that would be refused is refused.
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

- name: Flash one accepted version on the Gaudi 3 nodes of the play
  gaudi3.scale.hpu_firmware:
    release: 1.23.0
    state: flashed
    accept:
      gaudi3: 1.22.0-fw-61.3.2-sec-3
    write_protection_command: [/usr/local/sbin/ask-bmc, spi-write-protect]
"""

RETURN = r"""
generation:
  description: Generation of the cards. Null without cards or with mixed generations.
  type: str
  returned: success
  sample: gaudi3
target:
  description: Accepted version for this generation. Null if none is accepted.
  type: str
  returned: success
  sample: 1.22.0-fw-61.3.2-sec-3
cards:
  description: Cards, by module id.
  type: list
  elements: dict
  returned: success
  contains:
    pci_address:
      description: PCI address of the card.
      type: str
    module_id:
      description: Module id. Null if no driver reports it.
      type: int
    serial:
      description: Serial number. Null if no driver reports it.
      type: str
    board:
      description: Type of card.
      type: str
    before:
      description: SPI version of the card before. Text in quotes is not a valid SPI version.
      type: str
    after:
      description: SPI version of the card now.
      type: str
    needed:
      description: C(current), C(flash), C(power cycle needed), C(unreadable) or C(no target), before.
      type: str
    verdict:
      description: The same value now.
      type: str
equal:
  description: Whether all cards have the same version. Null if one cannot be read.
  type: bool
  returned: success
outstanding:
  description: Whether O(accept) has a target for these cards and the way there needs an action or is refused.
  type: bool
  returned: success
published:
  description: Version that the vendor's recipe for O(release) flashes. Null if not known.
  type: str
  returned: success
steps:
  description: Steps taken, or that check mode would take, in order.
  type: list
  elements: str
  returned: success
  sample: ["unload habanalabs_ib habanalabs_en", "flash 0000:33:00.0"]
written:
  description: PCI addresses of the cards that were flashed.
  type: list
  elements: str
  returned: success
power_cycle_needed:
  description: PCI addresses of the cards that were flashed and still show their old version.
  type: list
  elements: str
  returned: success
interrupted:
  description: Whether an unfinished earlier run was found.
  type: bool
  returned: success
reasons:
  description: Why nothing was flashed, one reason per item.
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
