#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: hpu_energy_info
short_description: Report the energy that a node's cards used in a period
version_added: "1.0.0"
description:
  - Reads the data that the collector of M(gaudi3.scale.hpu_exporter) keeps for five weeks, one line per minute. Queries
    no card.
  - Energy is what the card's own counter reports through HLML, the vendor's library. Where that is missing, or began
    again because the driver was loaded, it is the integral of sampled power as reported by C(hl-smi), which is the 54 V
    rail and nearly all of the card's power. Time without either is not included and is returned separately.
  - Power is assumed constant between two lines, so short periods of minutes are less exact than hours.
options:
  begin:
    description: Start of the period, in seconds since 1970.
    type: float
    required: true
  end:
    description: End of the period, in seconds since 1970.
    type: float
    required: true
  modules:
    description:
      - Module ids of the cards to count, as RV(gaudi3.scale.training_job_info#module:modules) of a job that has part of
        the node. By default all cards.
    type: list
    elements: int
    default: []
  directory:
    description: Directory with the collector's data.
    type: path
    default: /var/lib/gaudi3_scale/exporter/energy
attributes:
  check_mode:
    support: full
    description: Read-only.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
author: The gaudi3.scale authors (@gaudi3-scale)
seealso:
  - module: gaudi3.scale.hpu_exporter
"""

EXAMPLES = r"""
- name: Report the energy of last night
  gaudi3.scale.hpu_energy_info:
    begin: 1785880800
    end: 1785909600
  become: true
  register: night
"""

RETURN = r"""
cards:
  description: Each card seen in the period, by PCI address.
  returned: always
  type: dict
  contains:
    joules:
      description: Energy that the card used, in joules.
      type: float
    gap_seconds:
      description: Seconds of the period without power data.
      type: float
  sample: {"0000:19:00.0": {"joules": 6912000.0, "gap_seconds": 0.0}}
joules:
  description: Energy of all cards, in joules.
  returned: always
  type: float
gap_seconds:
  description: Seconds without power data, over all cards.
  returned: always
  type: float
card_seconds:
  description: Length of the period times the number of cards, in seconds.
  returned: always
  type: float
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.energy_log import read, used
from ansible_collections.gaudi3.scale.plugins.module_utils._job.binding.modules import addresses_of
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import kernel_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "begin": {"type": "float", "required": True},
            "end": {"type": "float", "required": True},
            "modules": {"type": "list", "elements": "int", "default": []},
            "directory": {"type": "path", "default": "/var/lib/gaudi3_scale/exporter/energy"},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], _module: AnsibleModule) -> dict[str, Any]:
    begin, end = options["begin"], options["end"]
    if end <= begin:
        raise GaudiError(f"end is {end:.0f}, which is not after begin, {begin:.0f}; give a moment after it.")
    known = read(Path(options["directory"]), begin, end)
    if options["modules"]:
        own = addresses_of(options["modules"], kernel_tree())
        known = {card: ones for card, ones in known.items() if card in own}
    cards = {card: used(ones, begin, end) for card, ones in known.items()}
    return {
        "changed": False,
        "cards": {card: {"joules": one.joules, "gap_seconds": one.gap_seconds} for card, one in cards.items()},
        "joules": sum(one.joules for one in cards.values()),
        "gap_seconds": sum(one.gap_seconds for one in cards.values()),
        "card_seconds": len(cards) * (end - begin),
    }


if __name__ == "__main__":
    main()
