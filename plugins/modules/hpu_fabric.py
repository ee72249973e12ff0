#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_fabric
short_description: Detect a Gaudi node's scale-out network and bring up the cards' ports
version_added: "1.0.0"
description:
  - Selects the network for traffic between nodes, from sysfs alone. The cards' own Ethernet ports come first, then a
    host card with InfiniBand, then one with RoCE, then an Elastic Fabric Adapter, then plain Ethernet.
  - The cards' external ports are down after each load of the driver. The unit C(gaudi3-scale-ports.service) brings them
    up with the vendor's C(manage_network_ifs.sh) at every boot and, through a udev rule, whenever ports appear. It is
    started at once if a port is down.
  - Layer 2 needs nothing more. For layer 3 each port gets an address from a systemd-networkd file that matches its MAC
    address, and an entry in C(/etc/habanalabs/gaudinet.json) with the MAC address that answered for the switch's
    address.
  - C(gaudinet.json) is written completely or not at all. A file that was written or edited by hand is kept beside the
    new one.
  - O(layer=2) removes what this module has written for layer 3, and nothing else.
options:
  provider:
    description:
      - Network between the nodes. V(auto) selects from what is present. Any other value is used as given.
      - V(auto) does not select an Ethernet RDMA card that carries the default route.
    type: str
    choices: [auto, gaudi_ethernet, infiniband, roce, efa, ethernet]
    default: auto
  interface:
    description: "Interface for the rendezvous of the ranks. Empty: that of the default route."
    type: str
    default: ""
  link_timeout:
    description: Seconds to wait for links after the ports are switched on.
    type: float
    default: 30
  layer:
    description: Layer of the network between the cards' own ports. With V(3) the switch routes between them.
    type: int
    choices: [2, 3]
    default: 2
  addresses:
    description:
      - Source of the addresses with O(layer=3). V(plan) allocates them from O(pools) and O(hosts). V(lldp) uses the
        port description that the switch announces, such as C(no-alert 10.200.10.2/30).
      - With V(plan), an announcement with another address or mask is refused.
    type: str
    choices: [plan, lldp]
    default: plan
  pools:
    description:
      - IPv4 networks in CIDR notation from which each port gets a /30. The switch has the highest usable address in it.
      - One for all ports, or one per rail - one for each port of a card, for each card, or for each port of a server.
    type: list
    elements: str
    default: []
  hosts:
    description: All hosts of the fabric, in a stable order. Adding a host at the end renumbers no other host.
    type: list
    elements: str
    default: []
  host:
    description: Name of this node in O(hosts).
    type: str
    default: ""
  mtu:
    description: MTU of the ports with O(layer=3), from 1500 to 9000.
    type: int
    default: 8000
  pfc_priorities:
    description:
      - Priorities with flow control with O(layer=3). The vendor's tool sets 0 to 3 together. An empty list leaves flow
        control unchanged.
    type: list
    elements: int
    default: [0, 1, 2, 3]
  lldp_timeout:
    description: Seconds to wait for the switch's announcements if none was received on a port with a link.
    type: float
    default: 90
  require_programs:
    description:
      - Whether O(layer=3) fails if required programs are missing. With V(false) they are returned in
        RV(missing_programs), and layer 3 is not configured.
    type: bool
    default: true
  device:
    description: As O(gaudi3.scale.hpu_fabric_networks#module:device).
    type: str
    choices: [hpu, cuda, cpu]
    default: hpu
  venv:
    description: As O(gaudi3.scale.hpu_fabric_networks#module:venv).
    type: path
    default: /opt/gaudi3_scale/venv
attributes:
  check_mode:
    support: full
    description:
      - Nothing is written or started. The provider is the one that can be detected before the driver is loaded.
  diff_mode:
    support: full
    description: Shows the unit, the udev rule, and the ports that are switched on.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Detect the network and bring up the ports
  gaudi3.scale.hpu_fabric:

- name: Use the host's InfiniBand although the cards have links
  gaudi3.scale.hpu_fabric:
    provider: infiniband
    interface: ens1f0

- name: Route between the cards' own ports
  gaudi3.scale.hpu_fabric:
    provider: gaudi_ethernet
    layer: 3
    pools: [10.200.0.0/16]
    hosts: [gaudi-01, gaudi-02]
    host: gaudi-01
"""

RETURN = r"""
addresses:
  description:
    - Layer 3 addresses of the ports, with C(interface), C(module_id), C(port), C(mac), C(address), C(prefix),
      C(gateway) and C(gateway_mac).
  type: list
  elements: dict
  returned: success
missing_programs:
  description: Programs that layer 3 needs and this node lacks.
  type: list
  elements: str
  returned: success
backup:
  description: Backup of a C(gaudinet.json) that was written by hand. Empty if none was replaced.
  type: str
  returned: success
fabric:
  description: Network of this node. The fact C(gaudi_fabric) is the same.
  type: dict
  returned: success
  contains:
    provider:
      description: V(gaudi_ethernet), V(infiniband), V(roce), V(efa) or V(ethernet).
      type: str
    reason:
      description: Why this provider was selected.
      type: str
      sample: 24 of 24 external ports of the cards have a link
    interface:
      description: Interface for the rendezvous of the ranks, or null.
      type: str
    ports_expected:
      description: Number of external ports that the cards have in hardware.
      type: int
    ports_with_link:
      description: Number of RV(ports) with a link.
      type: int
    layer:
      description: Layer of the cards' own ports, or null if they are not used.
      type: int
ports:
  description:
    - The cards' external ports, with C(interface), C(pci_address), C(module_id), C(number), C(mac), C(enabled) and
      C(link).
  type: list
  elements: dict
  returned: success
host_nics:
  description: RDMA cards of the host, with C(device), C(kind), C(link) and C(interfaces).
  type: list
  elements: dict
  returned: success
measurable:
  description: The result of M(gaudi3.scale.hpu_fabric_networks), for a measurement that follows.
  type: dict
  returned: success
ansible_facts:
  description: Facts that this module sets.
  type: dict
  returned: success
  contains:
    gaudi_fabric:
      description: Same as RV(fabric).
      type: dict
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.layer3.port_addresses import (
    LAYERS,
    PLAN,
    SOURCES,
    RoutedOptions,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.measurement import Measuring
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.provider import AUTO, PROVIDERS
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.state import FabricOptions, Place, converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module

ROUTED: dict[str, dict[str, object]] = {
    "layer": {"type": "int", "choices": list(LAYERS), "default": 2},
    "addresses": {"type": "str", "choices": list(SOURCES), "default": PLAN},
    "pools": {"type": "list", "elements": "str", "default": []},
    "hosts": {"type": "list", "elements": "str", "default": []},
    "host": {"type": "str", "default": ""},
    "mtu": {"type": "int", "default": 8000},
    "pfc_priorities": {"type": "list", "elements": "int", "default": [0, 1, 2, 3]},
    "lldp_timeout": {"type": "float", "default": 90},
    "require_programs": {"type": "bool", "default": True},
}


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        empty=("host",),
        argument_spec={
            "provider": {"type": "str", "choices": [AUTO, *PROVIDERS], "default": AUTO},
            "interface": {"type": "str", "default": ""},
            "link_timeout": {"type": "float", "default": 30},
            **ROUTED,
            "device": {"type": "str", "choices": ["hpu", "cuda", "cpu"], "default": "hpu"},
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
        },
        supports_check_mode=True,
    )


def answer(wishes: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    routed = RoutedOptions(**{name: wishes.pop(name) for name in ROUTED})
    measuring = Measuring(wishes.pop("device"), wishes.pop("venv"))
    return converge(
        FabricOptions(**wishes, routed=routed, measuring=measuring), run_process, module.check_mode, Place()
    )


if __name__ == "__main__":
    main()
