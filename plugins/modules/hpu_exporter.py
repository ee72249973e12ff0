#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: hpu_exporter
short_description: Export node metrics to Prometheus
version_added: "1.0.0"
description:
  - Installs a program that writes metrics of the cards, their ports, the node and its jobs into O(directory), where a
    node exporter's textfile collector reads them. It asks C(hl-smi) once each O(interval) seconds, which answers also
    while a job holds the cards.
  - Where C(hl-smi) hangs, one process hangs with it, the metrics of the cards keep their old timestamp, and everything
    else is still told.
  - Metrics that nobody writes any more go from O(directory), as with O(state=absent) and O(cards_from=vendor).
  - Sets up the node exporter of the distribution, which has to be installed, so that it listens at O(address) alone,
    over TLS, and answers those alone whose certificate is among O(readers).
  - Makes the node's own key and a certificate for it, which lasts two years and is renewed by the first run within its
    last month. The certificate is returned, so that the server knows its nodes; the key never leaves the node.
options:
  state:
    description: Whether the node is watched. V(absent) also stops the node exporter that was set up here.
    type: str
    choices: [present, absent]
    default: present
  cards:
    description: How many cards the node is to have.
    type: int
    required: true
  cards_from:
    description:
      - Who asks the cards. V(vendor) leaves them to the vendor's exporter. Two that ask each card are refused.
    type: str
    choices: [hl_smi, vendor]
    default: hl_smi
  interval:
    description: Seconds from one look to the next, from 1.
    type: int
    default: 10
  hl_smi_seconds:
    description: How long C(hl-smi) may take, from 1. A card in reset can hold it for half a minute.
    type: int
    default: 60
  port_counters:
    description: Whether HLML, the vendor's library, is asked what the external ports count, which are many metrics.
    type: bool
    default: true
  events:
    description:
      - Whether a process waits in HLML for events of the cards, such as memory errors. They are counted, and the grave
        ones are in the journal.
      - It keeps the library open, and may keep the cards' control devices open with it (UNVERIFIED). An upgrade of the
        driver or the firmware then names C(gaudi3-scale-metrics@cards.service) as what has a card open.
    type: bool
    default: false
  served_by:
    description:
      - V(site) leaves the node exporter to the site, which reads O(directory) with one of its own.
    type: str
    choices: [distribution, site]
    default: distribution
  address:
    description: The address of this node at which the node exporter listens.
    type: str
    default: 127.0.0.1
  port:
    description: The port at which it listens.
    type: int
    default: 9100
  all_interfaces:
    description: Says that O(address) may be all addresses of the node, V(0.0.0.0) or V(::).
    type: bool
    default: false
  names:
    description: Names and addresses by which the server reaches this node. They are in its certificate.
    type: list
    elements: str
    default: [localhost, 127.0.0.1]
  readers:
    description:
      - Certificates, in PEM, of those that may read the metrics. Empty is refused where O(address) is not a loopback.
    type: list
    elements: str
    default: []
  readers_to_come:
    description:
      - Hosts whose certificate O(readers) is to have, and which this run has not read.
      - In check mode they count as readers, since a new server has made none. Else the module refuses and names them.
    type: list
    elements: str
    default: []
  directory:
    description:
      - Where the node exporter's textfile collector reads. It has to be there; with O(served_by=site) the module looks.
    type: path
    default: /var/lib/prometheus/node-exporter
  unit:
    description: The unit of the distribution's node exporter.
    type: str
    default: prometheus-node-exporter.service
  program:
    description: Its program.
    type: path
    default: /usr/bin/prometheus-node-exporter
  group:
    description: The group that it runs as, which may read the key.
    type: str
    default: prometheus
  arguments_file:
    description: The file with its further arguments, in the variable C(ARGS). It stays as it is.
    type: path
    default: /etc/default/prometheus-node-exporter
attributes:
  check_mode:
    support: full
    description: Tells what would change.
  diff_mode:
    support: full
    description: Shows the files but the program.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Serve metrics to the monitoring server only
  gaudi3.scale.hpu_exporter:
    cards: 8
    address: 10.0.0.11
    names: [gaudi-01, 10.0.0.11]
    readers: ["{{ lookup('ansible.builtin.file', 'monitoring.pem') }}"]
  become: true

- name: Use the site's existing node exporter
  gaudi3.scale.hpu_exporter:
    cards: 8
    served_by: site
    directory: /var/lib/node_exporter/textfile
  become: true
"""

RETURN = r"""
certificate:
  description: The node's certificate in PEM. Empty where the site serves the metrics, and in check mode on a new node.
  type: str
  returned: success
steps:
  description: What was done, or would be.
  type: list
  elements: str
  returned: success
  sample: [program, "file /etc/systemd/system/gaudi3-scale-metrics@.service", certificate]
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.plan import Options
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.program import main as _program
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.state import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._node.option_forms import (
    check_group,
    check_place,
    check_unit,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._node.tls_identity import check_names

# Ansible sends to a node what a module imports; the program that stays there is made of it.
PROGRAM = _program

FORMS = {
    **dict.fromkeys(("directory", "program", "arguments_file"), check_place),
    "unit": check_unit,
    "group": check_group,
}


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        text=("readers",),
        forms=FORMS,
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "cards": {"type": "int", "required": True},
            "cards_from": {"type": "str", "choices": ["hl_smi", "vendor"], "default": "hl_smi"},
            "interval": {"type": "int", "default": 10},
            "hl_smi_seconds": {"type": "int", "default": 60},
            "port_counters": {"type": "bool", "default": True},
            "events": {"type": "bool", "default": False},
            "served_by": {"type": "str", "choices": ["distribution", "site"], "default": "distribution"},
            "address": {"type": "str", "default": "127.0.0.1"},
            "port": {"type": "int", "default": 9100},
            "all_interfaces": {"type": "bool", "default": False},
            "names": {"type": "list", "elements": "str", "default": ["localhost", "127.0.0.1"]},
            "readers": {"type": "list", "elements": "str", "default": []},
            "readers_to_come": {"type": "list", "elements": "str", "default": []},
            "directory": {"type": "path", "default": "/var/lib/prometheus/node-exporter"},
            "unit": {"type": "str", "default": "prometheus-node-exporter.service"},
            "program": {"type": "path", "default": "/usr/bin/prometheus-node-exporter"},
            "group": {"type": "str", "default": "prometheus"},
            "arguments_file": {"type": "path", "default": "/etc/default/prometheus-node-exporter"},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    """Set up what watches the node, or take it away, and report."""
    lists = {name: tuple(given[name]) for name in ("readers", "readers_to_come")}
    lists["names"] = check_names("names", given["names"])
    return converge(Options(**{**given, **lists}), run_process, module.check_mode)


if __name__ == "__main__":
    main()
