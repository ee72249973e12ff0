#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_fabric_info
short_description: Report which cable is connected to which of the cards' ports
version_added: "1.0.0"
description:
  - Reports the external ports of the cards, their addresses, and the switch's LLDP announcements on each cable.
  - LLDP is received by C(lldpd), which the role C(gaudi_fabric) installs for layer 3. Without it, RV(lldp_error) says
    why there are no neighbors.
  - Announcements are untrusted data from the other end of the cable, limited to one line of at most 255 characters.
  - All keys are always returned.
attributes:
  check_mode:
    support: full
    description: Runs as usual; it changes nothing.
  diff_mode:
    support: none
    description: Changes nothing, so there is no diff.
seealso:
  - module: gaudi3.scale.hpu_fabric
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Read the neighbors of the cards' ports
  gaudi3.scale.hpu_fabric_info:
  register: fabric
"""

RETURN = r"""
boards:
  description: PCI device ids of the cards.
  type: list
  elements: str
  returned: success
  sample: ["0x1060"]
ports:
  description:
    - The cards' external ports, with C(interface), C(pci_address), C(module_id), C(number), C(mac), C(enabled),
      C(link) and C(addresses).
  type: list
  elements: dict
  returned: success
neighbors:
  description: LLDP neighbors of these ports, with C(interface), C(switch), C(port) and C(description).
  type: list
  elements: dict
  returned: success
lldp_error:
  description: "Why nothing could be received. Empty: no error."
  type: str
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.info import fabric_info
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import kernel_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={},
        supports_check_mode=True,
    )


def answer(_options: dict[str, Any], _module: AnsibleModule) -> dict[str, Any]:
    """Look, and report."""
    return {"changed": False, **fabric_info(run_process, kernel_tree())}


if __name__ == "__main__":
    main()
