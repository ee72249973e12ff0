#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_fabric
short_description: Find a Gaudi node's scale-out network and bring the cards' own ports up
version_added: "0.1.0"
description:
  - Finds which network carries the traffic between nodes, from sysfs alone. The cards' own Ethernet ports come first,
    then a host card with InfiniBand, then one with RoCE, then an Elastic Fabric Adapter, then plain Ethernet.
  - The cards' external ports are down after each load of the driver. The unit C(gaudi3-scale-ports.service) brings them
    up with the vendor's C(manage_network_ifs.sh) at every boot and, through a udev rule, whenever ports appear; it is
    started at once where a port is switched off.
  - Layer 2 needs nothing more. Addresses and gateways of a layer 3 network (C(/etc/habanalabs/gaudinet.json)) are the
    operator's, and are not touched.
options:
  provider:
    description:
      - V(auto) chooses by what is there. Any other value is taken as it is.
      - An Ethernet RDMA card that carries the default route is not chosen by V(auto).
    type: str
    choices: [auto, gaudi_ethernet, infiniband, roce, efa, ethernet]
    default: auto
  interface:
    description: Interface over which the ranks find each other. That of the default route when empty.
    type: str
    default: ""
  link_timeout:
    description: Seconds to wait for links after the ports were switched on.
    type: float
    default: 30
attributes:
  check_mode:
    support: full
    description:
      - Nothing is written or started. The provider is the one that can be told before the driver is loaded.
  diff_mode:
    support: full
    description: Shows the unit and the udev rule, and the ports that are switched on.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Find the network and bring the ports up
  gaudi3.scale.hpu_fabric:

- name: Scale out over the host's InfiniBand although the cards have links
  gaudi3.scale.hpu_fabric:
    provider: infiniband
    interface: ens1f0
"""

RETURN = r"""
fabric:
  description: The network of this node. The fact C(gaudi_fabric) is the same.
  type: dict
  returned: success
  contains:
    provider:
      description: V(gaudi_ethernet), V(infiniband), V(roce), V(efa) or V(ethernet).
      type: str
    reason:
      description: Why this one.
      type: str
      sample: 24 of 24 external ports of the cards have a link
    interface:
      description: Interface over which the ranks find each other, or null.
      type: str
    ports_expected:
      description: How many external ports the cards have in hardware.
      type: int
    ports_with_link:
      description: How many of RV(ports) have a link.
      type: int
ports:
  description: The cards' external ports, with C(interface), C(pci_address), C(number), C(enabled) and C(link).
  type: list
  elements: dict
  returned: success
host_nics:
  description: RDMA cards of the host, with C(device), C(kind), C(link) and C(interfaces).
  type: list
  elements: dict
  returned: success
ansible_facts:
  description: Facts that this module sets.
  type: dict
  returned: success
  contains:
    gaudi_fabric:
      description: The same as RV(fabric).
      type: dict
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.provider import AUTO, PROVIDERS
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.state import FabricOptions, Place, converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.masked_options import MaskedOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_failure import module_failure
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_options import checked


class Module(MaskedOptions, AnsibleModule):
    """Tells in a sentence also what Ansible itself cannot read."""


def main() -> None:
    """Read the options, call the core, report."""
    module = Module(
        argument_spec={
            "provider": {"type": "str", "choices": [AUTO, *PROVIDERS], "default": AUTO},
            "interface": {"type": "str", "default": ""},
            "link_timeout": {"type": "float", "default": 30},
        },
        supports_check_mode=True,
    )
    try:
        wishes = checked(module.params, module.argument_spec)
        result = converge(FabricOptions(**wishes), run_process, module.check_mode, Place())
        for warning in result.pop("warnings"):
            module.warn(warning)
        module.exit_json(**result)
    except Exception as error:
        module.fail_json(**module_failure(error))


if __name__ == "__main__":
    main()
