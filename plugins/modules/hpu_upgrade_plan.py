#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_upgrade_plan
short_description: Report what a release would change on a Gaudi node, and its blockers
version_added: "1.0.0"
description:
  - Inspects the cards, their firmware, the kernels, the vendor's packages, the driver's builds, container engines and
    PyTorch, and compares them with a row of the compatibility table.
  - Changes nothing, and works on a node without any Gaudi software.
  - The verdict is V(compatible), V(incompatible) or V(unknown). What no source states is V(unknown) with the reason,
    never guessed.
options:
  release:
    description: Release of the Gaudi software, with or without its build, for example V(1.24.1) or V(1.24.1-482).
    type: str
    required: true
  release_overrides:
    description: Rows that replace or add releases, as a mapping from version to fields of a release, such as C(build).
    type: dict
    default: {}
  packages:
    description: The vendor's packages that the node must have, besides those already installed.
    type: list
    elements: str
    default: []
  cards:
    description: "Number of cards that the node must have. V(0): any."
    type: int
    default: 0
  allow_unsupported_os:
    description:
      - Whether to accept an operating system or kernel outside the release's matrix. The verdict is then V(unknown)
        instead of V(incompatible), because no source supports it.
    type: bool
    default: false
  venv:
    description: Training environment whose PyTorch is inspected.
    type: path
    default: /opt/gaudi3_scale/venv
attributes:
  check_mode:
    support: full
    description: Read-only.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
notes:
  - C(hl-smi) and other users' processes are visible only to root, so run this with C(become).
seealso:
  - module: gaudi3.scale.hpu_driver
  - module: gaudi3.scale.hpu_info
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Show what release 1.24.1 would change
  gaudi3.scale.hpu_upgrade_plan:
    release: 1.24.1
    cards: 8
  register: plan
  become: true

- name: Show the blockers
  ansible.builtin.debug:
    var: plan.obstacles
"""

RETURN = r"""
facts:
  description: State of the node. Unknown values are V(null) or empty.
  type: dict
  returned: success
  contains:
    generations:
      description: All generations present.
      type: list
      elements: str
      sample: [gaudi3]
    cards:
      description: Number of cards on the PCI bus.
      type: int
    boards:
      description: All types of card present.
      type: list
      elements: str
    os:
      description: Distribution and version.
      type: str
      sample: ubuntu-24.04
    architecture:
      description: Machine type.
      type: str
    kernel:
      description: The running kernel.
      type: str
    next_kernel:
      description: The kernel that boots next.
      type: str
    headers:
      description: Which of the two kernels have headers installed.
      type: list
      elements: str
    driver:
      description: Version that the loaded driver reports.
      type: str
      sample: 1.23.0-2eae87a
    packages:
      description: The vendor's installed packages and their versions.
      type: dict
      sample: {habanalabs-dkms: 1.23.0-695}
    half_way:
      description: Packages that an interrupted transaction left half installed.
      type: list
      elements: str
    held:
      description: Packages that are held at their version.
      type: list
      elements: str
    built:
      description: Driver version that DKMS installed, by kernel.
      type: dict
    spi:
      description: SPI firmware of each card, by PCI address.
      type: dict
    fit:
      description: Boot firmware of each card, by PCI address.
      type: dict
    cpld:
      description: CPLD version of each card, by PCI address.
      type: dict
    programs:
      description: Versions of Docker, Podman, containerd, Kubernetes, Open MPI and libfabric, if installed.
      type: dict
    pytorch:
      description: Version of PyTorch in O(venv).
      type: str
    pytorch_release:
      description: Release of the vendor's PyTorch plugin in O(venv).
      type: str
    holders:
      description: Processes that have a card open.
      type: list
      elements: str
    throttled:
      description: What keeps a card's clock low now, V(power) or V(thermal). V(null) where HLML did not report it.
      type: list
      elements: str
    throttled_ever:
      description: What has kept one low since the driver was loaded.
      type: list
      elements: str
    fault:
      description: Message about what could not be inspected.
      type: str
wanted:
  description: Row of the release, as far as it concerns this node. Empty values are not published.
  type: dict
  returned: success
  sample: {release: 1.24.1, package_version: 1.24.1-482, kernels: ["6.8"]}
changes:
  description: Versions that would change. Firmware is never included, because it is flashed only on request.
  type: list
  elements: dict
  returned: success
  contains:
    what:
      description: Package or component.
      type: str
    from:
      description: "Current version. V(null): not installed."
      type: str
    to:
      description: Version after the change.
      type: str
  sample:
    - what: habanalabs-dkms
      from: 1.23.0-695
      to: 1.24.1-482
obstacles:
  description: Blockers that must be resolved before the change can succeed, one message each.
  type: list
  elements: str
  returned: success
verdict:
  description: Whether the release fits this node.
  type: dict
  returned: success
  contains:
    state:
      description: V(compatible), V(incompatible) or V(unknown).
      type: str
    reasons:
      description: Why it is not V(compatible), one message each.
      type: list
      elements: str
    remarks:
      description: Remarks that do not affect the verdict.
      type: list
      elements: str
life_cycles:
  description:
    - Until when each part of the planned stack is supported, as of the node's date - the release, the generation of the
      cards, the operating system, the kernels, PyTorch, the newest vLLM that was tested with the release, ansible-core,
      and libraries in O(venv) of which something is known.
    - What is no longer supported or has a known hole is among the remarks too, as is the age of outdated data.
  type: list
  elements: dict
  returned: success
  contains:
    kind:
      description: What it is.
      type: str
      sample: ansible-core
    name:
      description: Version or name.
      type: str
      sample: 2.19.3
    state:
      description: V(supported), V(ended), V(faulty) (a known hole, or it does not work) or V(unknown) (in no source).
      type: str
    until:
      description: Last day or month with fixes. Empty if no source has a date.
      type: str
      sample: 2026-11
    holes:
      description: Names of its known holes.
      type: list
      elements: str
    source:
      description: Who says so.
      type: str
    read:
      description: Day on which the source was read.
      type: str
    unverified:
      description: Whether there is one weak source or none.
      type: bool
    sentence:
      description: All of it as a message.
      type: str
fingerprint:
  description: Equal on nodes that are equal in everything that should be. Serial numbers and names are not included.
  type: str
  returned: success
  sample: 3f9a1c0b77de
"""

from datetime import datetime, timezone
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import kernel_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._node.option_forms import check_package
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release
from ansible_collections.gaudi3.scale.plugins.module_utils._upgrade import inventory as node_inventory
from ansible_collections.gaudi3.scale.plugins.module_utils._upgrade.plan import PlanOptions, Surroundings, upgrade_plan

FORMS = dict.fromkeys(("packages",), check_package)


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        forms=FORMS,
        argument_spec={
            "release": {"type": "str", "required": True},
            "release_overrides": {"type": "dict", "default": {}},
            "packages": {"type": "list", "elements": "str", "default": []},
            "cards": {"type": "int", "default": 0},
            "allow_unsupported_os": {"type": "bool", "default": False},
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
        },
        supports_check_mode=True,
    )


def answer(wishes: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    venv = wishes.pop("venv")
    options = PlanOptions(**wishes)
    release = find_release(options.release, options.release_overrides)
    today = datetime.now(timezone.utc).date()
    # AnsibleModule has it from a table of its own, where types cannot see it.
    core = str(getattr(module, "ansible_version", ""))
    around = Surroundings(today, core, node_inventory.distributions(venv))
    plan = upgrade_plan(options, node_inventory.read(run_process, kernel_tree(), venv), release, around)
    return {"changed": False, **plan}


if __name__ == "__main__":
    main()
