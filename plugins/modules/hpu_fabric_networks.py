#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_fabric_networks
short_description: List the networks over which a node can be measured, and store the results
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Reports the network that M(gaudi3.scale.hpu_fabric) would select, and all networks that could carry an all-reduce
    between this node and another. It detects what is present and changes nothing except O(measurement).
  - M(gaudi3.scale.fabric_benchmark) calls it and stores the results of the all-reduces with it.
options:
  provider:
    description: As O(gaudi3.scale.hpu_fabric#module:provider).
    type: str
    choices: [auto, gaudi_ethernet, infiniband, roce, efa, ethernet]
    default: auto
  interface:
    description: "Interface of the plain network. Empty: that of the default route."
    type: str
    default: ""
  device:
    description: Device that the ranks of a measurement would compute on. Only cards use the cards' own ports.
    type: str
    choices: [hpu, cuda, cpu]
    default: hpu
  venv:
    description: Virtual environment with the node library.
    type: path
    default: /opt/gaudi3_scale/venv
  measurement:
    description:
      - Result to store in C(/var/lib/gaudi3_scale/fabric_benchmark.json). Without it the file is left unchanged.
    type: dict
attributes:
  check_mode:
    support: full
    description: Stores nothing.
  diff_mode:
    support: full
    description: Shows the file.
seealso:
  - module: gaudi3.scale.hpu_fabric
  - module: gaudi3.scale.fabric_benchmark
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: List the networks that can be measured on this node
  gaudi3.scale.hpu_fabric_networks:
  register: networks
"""

RETURN = r"""
requested:
  description: Value of O(provider).
  type: str
  returned: success
provider:
  description: Selected network.
  type: str
  returned: success
reason:
  description: Why this network was selected.
  type: str
  returned: success
networks:
  description: Each network with C(provider), C(usable), C(interface) for sockets, and C(reason) if it is not usable.
  type: list
  elements: dict
  returned: success
cards:
  description: Number of cards on the node.
  type: int
  returned: success
links:
  description: Number of external ports with a link.
  type: int
  returned: success
library:
  description: "Version of the node library in O(venv). Empty: none."
  type: str
  returned: success
measurement:
  description: "Stored result. Empty: none."
  type: dict
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.measurement import (
    MeasurementOptions,
    Measuring,
    Place,
    look,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.provider import AUTO, PROVIDERS
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "provider": {"type": "str", "choices": [AUTO, *PROVIDERS], "default": AUTO},
            "interface": {"type": "str", "default": ""},
            "device": {"type": "str", "choices": ["hpu", "cuda", "cpu"], "default": "hpu"},
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
            "measurement": {"type": "dict"},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    """Look, keep, and report."""
    measuring = Measuring(options.pop("device"), options.pop("venv"))
    wishes = MeasurementOptions(**options, measuring=measuring)
    return look(wishes, run_process, module.check_mode, Place())


if __name__ == "__main__":
    main()
