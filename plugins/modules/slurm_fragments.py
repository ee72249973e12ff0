#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_fragments
short_description: Write Slurm's settings for Gaudi nodes into files that its configuration includes
version_added: "1.0.0"
description:
  - Writes C(gaudi3_scale.conf) and C(gaudi3_scale_gres.conf) beside C(slurm.conf), which has to include the one, as
    C(gres.conf) the other. Neither of these two is changed.
  - Writes the program for C(HealthCheckProgram) and a file of checks for NHC below C(/etc/gaudi3_scale) where the host
    is one of O(nodes).
  - Refuses what the site's own files say otherwise, with file and line.
  - A host without C(slurm.conf), or whose slurmd has only a copy of the controller's (configless), gets the program
    alone.
  - C(slurm.conf) is the one that the units of slurmctld and slurmd name, by C(-f) or E(SLURM_CONF), else the one below
    the prefix of their programs or in C(/etc/slurm).
options:
  nodes:
    description:
      - What M(gaudi3.scale.slurm_node_info) has told of each node. With C(host), the host's name in the inventory, a
        node that calls itself otherwise is refused, and so is any name that two of them have.
    type: list
    elements: dict
    required: true
  names:
    description:
      - What hosts of O(nodes) are called in Slurm, by their names in the inventory, where that is not the same name
        without its domain.
    type: dict
    default: {}
  node:
    description: The name of this host in Slurm. Empty for one that runs no jobs.
    type: str
    default: ""
  release:
    description: The release that has to be running, for the health check.
    type: str
    required: true
  cards:
    description: Number of cards that the node has to have, for the health check.
    type: int
    required: true
  health_check:
    description: Whether Slurm is to run the health check.
    type: bool
    default: true
  interval:
    description: Seconds between two of them, up to 65535.
    type: int
    default: 300
  drain:
    description: Whether an unhealthy node takes itself out of service.
    type: bool
    default: true
  resume:
    description: Whether it gives itself back once it is well, where nobody else has taken it out.
    type: bool
    default: false
  max_drained_fraction:
    description: The largest fraction of all nodes that may drain themselves; one node always may.
    type: float
    default: 0.1
  task_prolog:
    description: The script of O(gaudi3.scale.hpu_flags#module:slurm_task_prolog). Empty sets no C(TaskProlog).
    type: str
    default: ""
  gres:
    description:
      - What Slurm calls the cards, as V(hpu) or V(gpu:hl225).
      - Empty takes the name that the site's C(gres.conf), its nodes or its C(GresTypes) have for Gaudi cards, else
        V(hpu).
    type: str
    default: ""
  configuration:
    description: The C(slurm.conf) of this host, where it is not found.
    type: str
    default: ""
  programs:
    description: The directory of Slurm's programs on this host, where they are not found.
    type: str
    default: ""
  venv:
    description: Where the node library is. Only root may write it and what is in it, since root runs it.
    type: path
    default: /opt/gaudi3_scale/venv
attributes:
  check_mode:
    support: full
    description: Tells what would change. What would be refused is refused.
  diff_mode:
    support: full
    description: Shows the files.
seealso:
  - module: gaudi3.scale.slurm_node_info
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Write Slurm's settings for this node
  gaudi3.scale.slurm_fragments:
    nodes: ["{{ gaudi_slurm_node_result.node }}"]
    node: "{{ gaudi_slurm_node_result.node.name }}"
    release: 1.24.1
    cards: 8
  become: true
"""

RETURN = r"""
reconfigure:
  description: Whether Slurm has to read its configuration again.
  type: bool
  returned: success
configless:
  description: Whether this host has no C(slurm.conf) of its own.
  type: bool
  returned: success
environment:
  description: What Slurm's programs need in their environment on this host. Empty for a distribution's Slurm.
  type: dict
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.node import nodes_from
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.state import Options, apply

EMPTY = ("node", "task_prolog", "gres", "configuration", "programs")


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        empty=EMPTY,
        argument_spec={
            "nodes": {"type": "list", "elements": "dict", "required": True},
            "names": {"type": "dict", "default": {}},
            "node": {"type": "str", "default": ""},
            "release": {"type": "str", "required": True},
            "cards": {"type": "int", "required": True},
            "health_check": {"type": "bool", "default": True},
            "interval": {"type": "int", "default": 300},
            "drain": {"type": "bool", "default": True},
            "resume": {"type": "bool", "default": False},
            "max_drained_fraction": {"type": "float", "default": 0.1},
            "task_prolog": {"type": "str", "default": ""},
            "gres": {"type": "str", "default": ""},
            "configuration": {"type": "str", "default": ""},
            "programs": {"type": "str", "default": ""},
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    """Write, and report."""
    names = given.pop("names")
    options = Options(**{**given, "nodes": nodes_from(given["nodes"], names)})
    return apply(options, run_process, module.check_mode)


if __name__ == "__main__":
    main()
