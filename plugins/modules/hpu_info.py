#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: hpu_info
short_description: Gather facts about Intel Gaudi cards
version_added: "1.0.0"
description:
  - Finds a node's Gaudi cards by their PCI ids, so it works on a machine without any Gaudi software.
  - Once the driver is loaded, adds what C(hl-smi) reports about firmware, memory, temperature, errors and links,
    and what HLML, the library below it, reports about energy, throttling, replaced rows and power limits.
  - HLML is loaded in a process of its own, with a deadline, and only from a place that root alone can change.
  - Cards are identified by PCI address. Their accel index can change at every boot and is reported only as a fact.
  - All keys are always returned. Unknown values are V(null) or empty, never zero.
options:
  hl_smi:
    description: Whether to run C(hl-smi) and HLML. Without them the facts come from the kernel alone, which is faster.
    type: bool
    default: true
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Read-only.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
notes:
  - C(hl-smi) and the attributes of some cards are readable only by root, so run this with C(become).
seealso:
  - module: gaudi3.scale.hpu_preflight
  - module: gaudi3.scale.hpu_verify
"""

EXAMPLES = r"""
- name: Read the cards
  gaudi3.scale.hpu_info:
  register: node
  become: true

- name: Show the temperature of each card
  ansible.builtin.debug:
    msg: "{{ item.pci_address }}: {{ item.temperature_c }} C"
  loop: "{{ node.hpu.cards }}"
  loop_control:
    label: "{{ item.pci_address }}"
"""

RETURN = r"""
hpu:
  description: Cards of this node and the system they run on.
  returned: always
  type: dict
  contains:
    generation:
      description: Generation of the cards. V(null) without cards or with several generations.
      type: str
      sample: gaudi3
    generations:
      description: All generations present.
      type: list
      elements: str
    count:
      description: Number of cards on the PCI bus.
      type: int
      sample: 8
    cards:
      description: Cards in the order of module id, then PCI address.
      type: list
      elements: dict
      contains:
        pci_address:
          description: Address on the PCI bus, in lower case.
          type: str
          sample: "0000:3b:00.0"
        pci_id:
          description: PCI device id.
          type: str
          sample: "0x1060"
        generation:
          description: Generation of this card.
          type: str
        board:
          description: Type of card with this PCI id.
          type: str
          sample: HL-325L
        numa_node:
          description: NUMA node of the card's PCI slot.
          type: int
        accel_index:
          description: N of C(/dev/accel/accelN). Changes with boots and driver reloads.
          type: int
        module_id:
          description: Position of the card in the server.
          type: int
        status:
          description: Status that the driver reports for the card.
          type: str
          sample: Operational
        name:
          description: Product name.
          type: str
          sample: HL-325L
        serial:
          description: Serial number.
          type: str
        uuid:
          description: UUID of the card.
          type: str
        temperature_c:
          description:
            - Temperature in degrees Celsius. A card that did not initialize shows 0. V(null), as with all readings, if
              hl-smi reports nothing or an impossible value.
          type: int
        memory_total_mib:
          description: Total HBM in MiB.
          type: int
          sample: 131072
        memory_used_mib:
          description: Used HBM in MiB.
          type: int
        utilization_percent:
          description: Utilization of the card in percent.
          type: int
        power_w:
          description: Power drawn from the 54 V rail in W.
          type: int
        ecc_uncorrected:
          description: Uncorrected ECC errors since the driver was loaded.
          type: int
        ecc_uncorrected_lifetime:
          description: Uncorrected ECC errors over the card's lifetime.
          type: int
        absurd:
          description: Impossible values that hl-smi reported for the card, by query name.
          type: dict
        row_replacement_pending:
          description: Whether a memory row replacement is pending until a reset.
          type: bool
        rows_replaced_single_bit:
          description: Memory rows that were replaced after repeated single-bit errors, by HLML.
          type: int
        rows_replaced_double_bit:
          description: Memory rows that were replaced after a double-bit error, by HLML.
          type: int
        energy_mj:
          description: Energy in mJ since the driver was loaded, by HLML.
          type: int
        throttled_by:
          description: What keeps the clock low now, V(power), V(thermal), both or nothing, by HLML.
          type: list
          elements: str
        throttle_counters:
          description:
            - HLML's counters of the time in which that was so, by reason. Their unit is not published, so they only
              tell whether there was more of it.
          type: dict
          sample: {power: 0, thermal: 0}
        disagreements:
          description: Where the kernel, C(hl-smi) and HLML differ about the card. Empty where HLML was not asked.
          type: list
          elements: dict
          contains:
            about:
              description: What it is about.
              type: str
              sample: the power limit
            said:
              description: What each of them reported.
              type: dict
              sample: {the kernel: 850000 mW, HLML: 850 mW}
            reason:
              description: Why they differ, where a reason is known.
              type: str
              sample: "1,000 times as much: one of them uses another unit"
        power_limit_w:
          description: Limit of the card's power in W, by HLML.
          type: int
          sample: 850
        power_limit_least_w:
          description: Lowest value of this limit in W, from HLML.
          type: int
          sample: 450
        power_limit_most_w:
          description: Highest value of this limit in W, from HLML.
          type: int
          sample: 850
        firmware:
          description: Firmware of this card.
          type: dict
          contains:
            spi:
              description: Firmware in the SPI flash.
              type: str
              sample: 1.22.0-fw-61.3.2-sec-3
            fit:
              description: Firmware that the driver loaded.
              type: str
            cpld:
              description: Version of the CPLD.
              type: str
        internal_links:
          description: Links to the other cards of the node. The keys are those of RV(hpu.links.internal).
          type: dict
        external_links:
          description: Links out of the node. The keys are those of RV(hpu.links.internal).
          type: dict
        verbs_device:
          description:
            - The card's device of class C(infiniband). Null if it has none, or if the owner cannot be determined.
          type: str
          sample: hbl_0
    verbs_devices:
      description: All verbs devices of the cards.
      type: list
      elements: str
    driver:
      description: The loaded driver.
      type: dict
      contains:
        version:
          description: Version that the driver reports.
          type: str
          sample: 1.24.1-b336d5e
        release:
          description: Release in that version.
          type: str
          sample: 1.24.1
        nic_version:
          description: Version of the port driver.
          type: str
        hl_smi_version:
          description: Version of C(hl-smi).
          type: str
          sample: hl-1.24.0-fw-62.6.2.0
        modules:
          description: Loaded kernel modules of the vendor.
          type: list
          elements: str
    hlml:
      description: HLML, the library below C(hl-smi).
      type: dict
      contains:
        version:
          description: Its version. V(null) where it was not asked.
          type: str
        reason:
          description: Why it did not say everything about the cards. Empty where it did.
          type: str
          sample: "HLML is not installed: there is no /usr/lib/habanalabs/libhlml.so"
    timeout_locked:
      description: Job timeout of the loaded driver in seconds, 0 for no limit. V(null) if not reported.
      type: int
      sample: 30
    firmware:
      description: SPI firmware over all cards.
      type: dict
      contains:
        spi:
          description: All versions found, without duplicates.
          type: list
          elements: str
        equal:
          description: Whether all cards have the same version. V(null) if not known for every card.
          type: bool
    links:
      description: Links of all cards together.
      type: dict
      contains:
        internal:
          description: Links between the cards of the node.
          type: dict
          contains:
            up:
              description: Number of links that are up. V(null) if not known.
              type: int
              sample: 168
            total:
              description: Number of links that the cards have.
              type: int
              sample: 168
            down:
              description: Links that are not up.
              type: list
              elements: str
              sample: ["0000:3b:00.0 port 7"]
        external:
          description: Links out of the node, with the same keys.
          type: dict
    kernel:
      description: The running kernel.
      type: dict
      contains:
        release:
          description: Release of the kernel.
          type: str
          sample: 6.8.0-45-generic
        command_line:
          description: Command line of the kernel.
          type: str
        iommu_passthrough:
          description: Whether C(iommu=pt) is on the command line.
          type: bool
        iommu_translates:
          description: Whether the IOMMU translates the cards' memory accesses; null if the kernel does not show it.
          type: bool
        hugepages:
          description: Number of reserved huge pages.
          type: int
        memory_mib:
          description: Total memory in MiB.
          type: int
          sample: 1031698
        hugepage_kib:
          description: Size of a huge page in KiB.
          type: int
    system:
      description: The operating system.
      type: dict
      contains:
        os:
          description: Distribution and version, as in os-release.
          type: str
          sample: ubuntu-24.04
        architecture:
          description: Machine type.
          type: str
          sample: x86_64
        python:
          description: Version of the Python that runs this module.
          type: str
        systemd:
          description: Whether systemd is the init system.
          type: bool
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._cards import hpu_facts
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import kernel_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "hl_smi": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], _module: AnsibleModule) -> dict[str, Any]:
    facts = hpu_facts.gather(run_process, kernel_tree(), options["hl_smi"], hlml=options["hl_smi"])
    return {"changed": False, "hpu": facts.as_dict()}


if __name__ == "__main__":
    main()
