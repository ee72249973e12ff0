#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
---
module: hpu_verify
short_description: Measure whether an installed Gaudi node is fit for training
version_added: "1.0.0"
description:
  - Reads cards, driver, firmware, temperatures, memory, ECC errors and links, the cards' PCIe, the clock, and the
    memory as Slurm counts it, and checks torch in the training venv.
  - Warns where the kernel, C(hl-smi) and HLML disagree about a card, and where a card's clock is reduced.
  - Fails with all problems at once, each as an error message with its remedy.
options:
  release:
    description: Release that must be running, V(1.24.1) or with its build, V(1.24.1-482).
    type: str
    required: true
  release_overrides:
    description: Releases that the collection does not know, as for M(gaudi3.scale.hpu_preflight).
    type: dict
    default: {}
  cards:
    description: Number of cards that the node must have.
    type: int
    required: true
  temperature_limit_c:
    description: Temperature in degrees Celsius that every card must be below. By default the limit of the generation.
    type: int
  idle_memory_mib:
    description:
      - Maximum HBM in use on a card while no job runs, in MiB. Cards of running jobs of this collection are left out.
    type: int
    default: 1024
  replaced_rows_limit:
    description:
      - Maximum memory rows of one card that may have been replaced. V(0) accepts any number.
      - No limit is published. V(32) is what HLML, the vendor's library, can list of a card (its wrapper habana-pyhlml).
      - A row that waits to be replaced always fails, since the card must be reset.
    type: int
    default: 32
  firmware:
    description:
      - SPI firmware that all cards must have, for example V(1.22.0-fw-61.3.2-sec-3).
      - By default all cards must only have the same version.
    type: str
  external_links:
    description:
      - Whether the links out of the node must be up as well. By default they must if several nodes (O(node_count))
        communicate over them, as selected by M(gaudi3.scale.hpu_fabric).
    type: bool
  node_count:
    description: Number of nodes that communicate. A single node does not use the links out of it.
    type: int
    default: 2
  pcie_generation:
    description: "Minimum PCIe generation of every card's link. V(0): 4 on Gaudi 2 and 5 on Gaudi 3."
    type: int
    default: 0
  pcie_lanes:
    description: "Minimum PCIe lanes of every card's link. V(0): 16 on Gaudi 2 and Gaudi 3."
    type: int
    default: 0
  gaudi_direct:
    description:
      - Whether cards and NICs communicate directly, as with Gaudi Direct. PCIe access control (ACS) must then be off on
        every bridge above the cards. If its registers cannot be read, the result is unknown and not a failure.
      - By default this is checked if the nodes communicate over NICs, as selected by M(gaudi3.scale.hpu_fabric).
    type: bool
  clock_offset_ms:
    description:
      - "Maximum clock offset in milliseconds, as reported by the running time service. V(0): not checked."
      - A clock that is not synchronized, or that differs from the controller's, gives a warning. The verdict of
        C(site.yml) compares the nodes to find which clock is wrong.
    type: int
    default: 1000
  venv:
    description:
      - "Training venv with the torch to check. Empty: torch is not checked."
      - If an account other than root can write to it, its torch runs as that account.
    type: path
    default: /opt/gaudi3_scale/venv
  flags:
    description:
      - File with the environment of jobs, used for the check of torch. It is optional.
      - Only root may have write access, unless another account owns O(venv).
    type: path
    default: /etc/gaudi3_scale/environment
  device:
    description: Device that torch must see. With V(cpu) torch only has to be present.
    type: str
    choices: [hpu, cuda, cpu]
    default: hpu
  fail:
    description: Whether a failed check fails the task. With V(false) the caller evaluates the returned checks.
    type: bool
    default: true
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Read-only. Failed checks become warnings, because earlier tasks have changed nothing yet.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
seealso:
  - module: gaudi3.scale.hpu_info
  - module: gaudi3.scale.hpu_preflight
"""

EXAMPLES = r"""
- name: Measure the node
  gaudi3.scale.hpu_verify:
    release: 1.24.1
    cards: 8
    external_links: true
  register: verdict
  become: true

- name: Check only, whatever the state
  gaudi3.scale.hpu_verify:
    release: 1.24.1
    cards: 8
    fail: false
  register: verdict
  become: true
"""

RETURN = r"""
checks:
  description: All checks. On failure, only name, ok and unknown of the failed checks; the message has the details.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Name of the check.
      type: str
      sample: driver release
    ok:
      description: Whether the node passes.
      type: bool
    expected:
      description: Expected value.
      type: str
      sample: 1.24.1
    found:
      description: What was measured.
      type: str
      sample: 1.24.1-b336d5e
    remedy:
      description: What to do if the check fails.
      type: str
    advice:
      description: Whether a failure is only a warning.
      type: bool
    message:
      description: Message, if the other fields do not make one.
      type: str
    unknown:
      description: Whether the check was inconclusive, for example because a program timed out. It is not V(ok) then.
      type: bool
summary:
  description: One flat row about this node, for a table. Unknown values are V(null).
  returned: always
  type: dict
  contains:
    ok:
      description: Whether every check passed.
      type: bool
    problems:
      description: Number of failed checks.
      type: int
    release:
      description: Wanted release.
      type: str
    driver:
      description: Version of the loaded driver.
      type: str
    hl_smi:
      description: Version of C(hl-smi).
      type: str
    generation:
      description: Generation of the cards.
      type: str
    cards:
      description: Number of cards.
      type: int
    cards_wanted:
      description: Number of cards wanted.
      type: int
    cards_operational:
      description: Number of cards that the driver reports as operational.
      type: int
    firmware:
      description: SPI firmware of the cards.
      type: str
    temperature_max_c:
      description: Temperature of the hottest card in degrees Celsius.
      type: int
    memory_used_max_mib:
      description: Used HBM of the fullest card in MiB.
      type: int
    ecc_uncorrected:
      description: Uncorrected ECC errors of all cards since the driver was loaded.
      type: int
    internal_links_up:
      description: Links between cards that are up.
      type: int
    internal_links_total:
      description: Links between cards.
      type: int
    external_links_up:
      description: Links out of the node that are up.
      type: int
    external_links_total:
      description: Links out of the node.
      type: int
    pcie:
      description: Generations and lane counts of the cards' PCIe links, without duplicates.
      type: str
      sample: Gen5 x16
    hugepages:
      description: Number of reserved huge pages.
      type: int
    hugepages_mib:
      description: Memory in huge pages, in MiB.
      type: int
    slurm_real_memory_mib:
      description: Memory outside the huge pages in MiB, the maximum for Slurm's C(RealMemory) less C(MemSpecLimit).
      type: int
    clock_service:
      description: Unit that synchronizes the clock.
      type: str
      sample: chrony.service
    clock_synchronized:
      description: Whether the clock is synchronized.
      type: bool
    clock_offset_ms:
      description: Absolute clock offset in milliseconds.
      type: float
    iommu_passthrough:
      description: Whether C(iommu=pt) is in effect.
      type: bool
    network:
      description: Network between the nodes.
      type: str
      sample: gaudi_ethernet
    restart_reasons:
      description: Why the node needs a reboot before all settings are in effect.
      type: list
      elements: str
    torch:
      description: Version of torch in the training venv.
      type: str
    torch_devices:
      description: Devices that torch sees. V(null) on a CPU.
      type: int
times:
  description: Node's clock, in Unix seconds.
  returned: always
  type: dict
  contains:
    began:
      description: Start of the measurement.
      type: float
    ended:
      description: End of the measurement.
      type: float
controller_clock:
  description:
    - How far the node's clock is ahead of the controller's, between C(low) and C(high) seconds, and the C(limit).
    - Added by the action plugin on the controller, not by the module.
  returned: unless O(clock_offset_ms) is V(0)
  type: dict
hpu:
  description: Card facts, as M(gaudi3.scale.hpu_info) returns them.
  returned: success
  type: dict
"""

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.check import advice, as_failures, as_results, failed
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import kernel_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release
from ansible_collections.gaudi3.scale.plugins.module_utils._verify import verdict as of_node
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.measurement import TrainingEnvironment, measure


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        empty=("venv",),
        argument_spec={
            "release": {"type": "str", "required": True},
            "release_overrides": {"type": "dict", "default": {}},
            "cards": {"type": "int", "required": True},
            "temperature_limit_c": {"type": "int"},
            "idle_memory_mib": {"type": "int", "default": 1024},
            "replaced_rows_limit": {"type": "int", "default": 32},
            "firmware": {"type": "str"},
            "external_links": {"type": "bool"},
            "node_count": {"type": "int", "default": 2},
            "pcie_generation": {"type": "int", "default": 0},
            "pcie_lanes": {"type": "int", "default": 0},
            "gaudi_direct": {"type": "bool"},
            "clock_offset_ms": {"type": "int", "default": 1000},
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
            "flags": {"type": "path", "default": "/etc/gaudi3_scale/environment"},
            "device": {"type": "str", "choices": ["hpu", "cuda", "cpu"], "default": "hpu"},
            "fail": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    began = time.time()
    release = find_release(options["release"], options["release_overrides"])
    training = TrainingEnvironment(*(options[name] for name in ("venv", "device", "flags")))
    measured = measure(
        run_process, kernel_tree(), training if options["venv"] else None, clock=options["clock_offset_ms"] > 0
    )
    checks = of_node.verdict(measured, release, limits := of_node.limits_of(options, measured.network))
    summary = of_node.summary(measured, checks, release, limits)
    found: dict[str, Any] = {"summary": summary, "times": {"began": began, "ended": time.time()}}
    for sentence in advice(checks):
        module.warn(sentence)
    problems = failed(checks)
    if problems and options["fail"] and not module.check_mode:
        # Without the facts: what an operator has to read would be lost among them on the screen.
        module.fail_json(msg=of_node.unfit(problems), checks=as_failures(problems), **found)
    if problems and module.check_mode:
        module.warn(of_node.outlook(measured.facts, problems))
    return {"changed": False, "checks": as_results(checks), "hpu": measured.facts.as_dict(), **found}


if __name__ == "__main__":
    main()
