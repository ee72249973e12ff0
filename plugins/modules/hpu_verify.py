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
  - Reads cards, driver, firmware, temperatures, memory, ECC errors and links, the cards' PCIe, the clock, and what
    Slurm counts as memory, and asks the training venv's torch.
  - Warns where the kernel, C(hl-smi) and HLML disagree about a card, and where a card's clock is reduced.
  - Fails with every reason at once, each as an error message that says what to do.
options:
  release:
    description: The release that has to be running, V(1.24.1) or with its build, V(1.24.1-482).
    type: str
    required: true
  release_overrides:
    description: Releases that the collection does not know, as for M(gaudi3.scale.hpu_preflight).
    type: dict
    default: {}
  cards:
    description: Number of cards that the node has to have.
    type: int
    required: true
  temperature_limit_c:
    description: Every card has to be below this, in degrees Celsius. Without it the limit of the generation counts.
    type: int
  idle_memory_mib:
    description: Most memory in MiB that may be in use on a card while no job runs.
    type: int
    default: 1024
  replaced_rows_limit:
    description:
      - Most memory rows of one card that may have been replaced. V(0) accepts any number.
      - No limit is published. V(32) is what HLML, the vendor's library, can list of a card (its wrapper habana-pyhlml).
      - A row that waits to be replaced is always a failure, since a reset of the card is due.
    type: int
    default: 32
  firmware:
    description:
      - The SPI firmware that all cards have to have, for example V(1.22.0-fw-61.3.2-sec-3).
      - Without it all cards only have to have the same one.
    type: str
  external_links:
    description:
      - Whether the links out of the node have to be up as well. Without it they have to where several nodes
        (O(node_count)) talk over them, as M(gaudi3.scale.hpu_fabric) has chosen.
    type: bool
  node_count:
    description: How many nodes talk to each other. One alone does not over the links out of it.
    type: int
    default: 2
  pcie_generation:
    description: Least generation of every card's PCIe link. V(0) stands for 4 on Gaudi 2 and 5 on Gaudi 3.
    type: int
    default: 0
  pcie_lanes:
    description: Least number of lanes of every card's PCIe link. V(0) stands for 16 on Gaudi 2 and Gaudi 3.
    type: int
    default: 0
  gaudi_direct:
    description:
      - Whether cards and network cards talk to each other, as Gaudi Direct has them. Access control (ACS) then has to
        be off on every bridge above the cards. Where its registers cannot be read, that is unknown and no failure.
      - Without it they do where the nodes talk over network cards, as M(gaudi3.scale.hpu_fabric) has chosen.
    type: bool
  clock_offset_ms:
    description:
      - Most milliseconds that the clock may be off, as the time service that runs says. V(0) leaves the clock out.
      - That a clock is not synchronized at all is a warning, and so is that it differs from the controller's. The
        verdict of C(site.yml) tells by the other nodes which of them is wrong.
    type: int
    default: 1000
  venv:
    description:
      - The training venv whose torch is asked. Empty leaves torch out.
      - One that another account than root's may write is asked as that account.
    type: path
    default: /opt/gaudi3_scale/venv
  flags:
    description:
      - File with the environment of jobs, in which torch is asked. It need not exist.
      - Only root may write it, unless O(venv) is another account's.
    type: path
    default: /etc/gaudi3_scale/environment
  device:
    description: The device that torch has to see. V(cpu) only wants torch itself.
    type: str
    choices: [hpu, cuda, cpu]
    default: hpu
  fail:
    description: Whether a failed check fails the task. With V(false) the caller judges the returned checks.
    type: bool
    default: true
author: The gaudi3.scale authors (@gaudi3-scale)
attributes:
  check_mode:
    support: full
    description: Only reads. Failed checks become warnings, because earlier tasks have changed nothing yet.
  diff_mode:
    support: none
    description: Changes nothing, so there is nothing to show.
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
  description: Every check. Where the module fails, name, ok and unknown of those that failed; the message has the rest.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: What is checked.
      type: str
      sample: driver release
    ok:
      description: Whether the node passes.
      type: bool
    expected:
      description: What is wanted.
      type: str
      sample: 1.24.1
    found:
      description: What was measured.
      type: str
      sample: 1.24.1-b336d5e
    remedy:
      description: What to do where it is not so.
      type: str
    advice:
      description: Whether a failure is only reported.
      type: bool
    message:
      description: The sentence to tell where the other parts do not make one.
      type: str
    unknown:
      description: Whether nobody could tell, as where a program had not ended in its time. It is not V(ok) then.
      type: bool
summary:
  description: One flat row about this node, for a table. What is not known is V(null).
  returned: always
  type: dict
  contains:
    ok:
      description: Whether every check passed.
      type: bool
    problems:
      description: Number of checks that failed.
      type: int
    release:
      description: The release that is wanted.
      type: str
    driver:
      description: The version of the driver that is loaded.
      type: str
    hl_smi:
      description: The version of C(hl-smi).
      type: str
    generation:
      description: The generation of the cards.
      type: str
    cards:
      description: Number of cards.
      type: int
    cards_wanted:
      description: Number of cards that are wanted.
      type: int
    cards_operational:
      description: Number of cards that the driver calls operational.
      type: int
    firmware:
      description: SPI firmware of the cards.
      type: str
    temperature_max_c:
      description: Temperature of the hottest card in degrees Celsius.
      type: int
    memory_used_max_mib:
      description: Used memory of the fullest card in MiB.
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
      description: Generation and lanes of the cards' PCIe links, each once.
      type: str
      sample: Gen5 x16
    hugepages:
      description: Huge pages that are reserved.
      type: int
    hugepages_mib:
      description: Memory that the huge pages take, in MiB.
      type: int
    slurm_real_memory_mib:
      description: Memory beside the huge pages in MiB, which Slurm's C(RealMemory) less C(MemSpecLimit) may be.
      type: int
    clock_service:
      description: The unit that sets the clock.
      type: str
      sample: chrony.service
    clock_synchronized:
      description: Whether the clock is synchronized.
      type: bool
    clock_offset_ms:
      description: Milliseconds that the clock is off, without a sign.
      type: float
    iommu_passthrough:
      description: Whether C(iommu=pt) is in force.
      type: bool
    network:
      description: The network between the nodes.
      type: str
      sample: gaudi_ethernet
    restart_reasons:
      description: Why the node has to be restarted before all settings of the layers are in force.
      type: list
      elements: str
    torch:
      description: Version of torch in the training venv.
      type: str
    torch_devices:
      description: Devices that torch sees. V(null) on a CPU.
      type: int
times:
  description: What the node's clock showed, in Unix seconds.
  returned: always
  type: dict
  contains:
    began:
      description: When the measurement began.
      type: float
    ended:
      description: When it had ended.
      type: float
controller_clock:
  description:
    - How far the node's clock is ahead of the controller's, between C(low) and C(high) seconds, and the C(limit).
    - The module itself does not know it; the action on the controller adds it.
  returned: unless O(clock_offset_ms) is V(0)
  type: dict
hpu:
  description: The facts, as M(gaudi3.scale.hpu_info) returns them.
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
