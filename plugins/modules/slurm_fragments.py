#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: slurm_fragments
short_description: Write Slurm settings for Gaudi nodes into files that its configuration includes
version_added: "1.0.0"
description:
  - Writes C(gaudi3_scale.conf) and C(gaudi3_scale_gres.conf) beside C(slurm.conf). C(slurm.conf) must include the first
    and C(gres.conf) the second; neither of them is changed.
  - Writes the program for C(HealthCheckProgram) and a file of NHC checks below C(/etc/gaudi3_scale) if the host is one
    of O(nodes).
  - Refuses conflicting settings in the site's own files, with file and line.
  - A host without C(slurm.conf), or whose slurmd has only a copy of the controller's (configless), gets the program
    only.
  - Uses the C(slurm.conf) that the units of slurmctld and slurmd name, with C(-f) or E(SLURM_CONF), or else the one
    below the prefix of their programs or in C(/etc/slurm).
options:
  nodes:
    description:
      - Results of M(gaudi3.scale.slurm_node_info) from each node. With C(host), the inventory name, a node that reports
        a different name is refused, and so is a name that two nodes share.
    type: list
    elements: dict
    required: true
  names:
    description:
      - Slurm names of hosts in O(nodes), as a mapping from inventory name, where they differ from the inventory name
        without its domain.
    type: dict
    default: {}
  node:
    description: "Slurm name of this host. Empty: it runs no jobs."
    type: str
    default: ""
  release:
    description: Release that must be running, for the health check.
    type: str
    required: true
  cards:
    description: Number of cards that the node must have, for the health check.
    type: int
    required: true
  health_check:
    description: Whether Slurm runs the health check.
    type: bool
    default: true
  interval:
    description: Seconds between health checks, up to 65535.
    type: int
    default: 300
  drain:
    description: Whether an unhealthy node drains itself.
    type: bool
    default: true
  resume:
    description: Whether it resumes itself once healthy, if nobody else has drained it.
    type: bool
    default: false
  max_drained_fraction:
    description: Maximum fraction of all nodes that may have drained themselves, always at least one node.
    type: float
    default: 0.1
  task_prolog:
    description: "Script of O(gaudi3.scale.hpu_flags#module:slurm_task_prolog). Empty: no C(TaskProlog)."
    type: str
    default: ""
  gres:
    description:
      - Name of the cards in Slurm, such as V(hpu) or V(gpu:hl225).
      - "Empty: the name that the site's C(gres.conf), nodes or C(GresTypes) use for Gaudi cards, else V(hpu)."
    type: str
    default: ""
  configuration:
    description: Path of C(slurm.conf) on this host, if not found automatically.
    type: str
    default: ""
  programs:
    description: Directory of Slurm's programs on this host, if not found automatically.
    type: str
    default: ""
  venv:
    description:
      - Virtual environment with the node library. Only root may have write access to it and its contents, because root
        runs it.
    type: path
    default: /opt/gaudi3_scale/venv
attributes:
  check_mode:
    support: full
    description: Reports what would change. Everything that would be refused is refused.
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
  description: Whether Slurm must read its configuration again.
  type: bool
  returned: success
configless:
  description: Whether this host has no C(slurm.conf) of its own (configless).
  type: bool
  returned: success
environment:
  description: Environment that Slurm's programs need on this host. Empty for a distribution's Slurm.
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
