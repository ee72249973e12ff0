#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_node_info
short_description: Report the slurm.conf entry of a node
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Reads the node's Slurm name and its processors from C(slurmd -C), its cards, and the memory outside the huge pages,
    which jobs may use. A name set with C(-N) in slurmd's unit takes precedence. Changes nothing.
options:
  configuration:
    description: As O(gaudi3.scale.slurm_fragments#module:configuration).
    type: str
    default: ""
  programs:
    description: As O(gaudi3.scale.slurm_fragments#module:programs).
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Read-only.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
seealso:
  - module: gaudi3.scale.slurm_fragments
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Read the node's Slurm entry
  gaudi3.scale.slurm_node_info:
  register: node
  become: true
"""

RETURN = r"""
node:
  description:
    - C(name), C(processors), C(cards), C(devices) (device files of the cards; empty unless there is one per card) and
      C(memory_mib). V(null) on a host without slurmd.
  type: dict
  returned: always
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._cards import hpu_facts
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import kernel_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.node import read_node
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.site import find_site


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        empty=("configuration", "programs"),
        argument_spec={
            "configuration": {"type": "str", "default": ""},
            "programs": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], _module: AnsibleModule) -> dict[str, Any]:
    """Read, and report."""
    site = find_site(run_process, **given)
    found = read_node(hpu_facts.gather(run_process, kernel_tree(), hl_smi=False), run_process, site=site)
    return {"changed": False, "node": found.as_result() if found else None}


if __name__ == "__main__":
    main()
