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
  - Installs a program that writes metrics of the cards, their ports, the node and its jobs to O(directory), where a
    node exporter's textfile collector reads them. It runs C(hl-smi) every O(interval) seconds, which works also while a
    job holds the cards.
  - If C(hl-smi) hangs, only one process hangs with it. The card metrics keep their old timestamp, and all other metrics
    are still exported.
  - Metrics that are no longer written are removed from O(directory), also with O(state=absent) and
    O(cards_from=vendor).
  - Configures the distribution's node exporter, which must be installed, to listen only on O(address), over TLS, and to
    answer only clients whose certificate is in O(readers).
  - Creates a key and a certificate for the node, valid for two years and renewed by the first run within the last
    month. The certificate is returned so that the server can authenticate the node; the key never leaves the node.
options:
  state:
    description: Whether the node is monitored. V(absent) also stops the node exporter that this module set up.
    type: str
    choices: [present, absent]
    default: present
  cards:
    description: Number of cards that the node should have.
    type: int
    required: true
  cards_from:
    description:
      - Source of the card metrics. V(vendor) leaves them to the vendor's exporter. Two exporters that both query the
        cards are refused.
    type: str
    choices: [hl_smi, vendor]
    default: hl_smi
  interval:
    description: Seconds between collections, at least 1.
    type: int
    default: 10
  hl_smi_seconds:
    description: Seconds that C(hl-smi) may take, at least 1. A card in reset can block it for half a minute.
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
    description: Who runs the node exporter. V(site) leaves it to the site, whose own exporter reads O(directory).
    type: str
    choices: [distribution, site]
    default: distribution
  address:
    description: Address of this node that the node exporter listens on.
    type: str
    default: 127.0.0.1
  port:
    description: Port that it listens on.
    type: int
    default: 9100
  all_interfaces:
    description: Allow O(address) to be all addresses of the node, V(0.0.0.0) or V(::).
    type: bool
    default: false
  names:
    description: Names and addresses by which the server reaches this node, for its certificate.
    type: list
    elements: str
    default: [localhost, 127.0.0.1]
  readers:
    description:
      - Certificates, in PEM, of the clients that may read the metrics. Empty is refused unless O(address) is a
        loopback.
    type: list
    elements: str
    default: []
  readers_to_come:
    description:
      - Hosts whose certificate should be in O(readers) but was not read in this run.
      - In check mode they count as readers, because a new server has no certificate yet. Otherwise the module refuses
        and lists them.
    type: list
    elements: str
    default: []
  directory:
    description:
      - Directory that the node exporter's textfile collector reads. It must exist; with O(served_by=site) the module
        checks this.
    type: path
    default: /var/lib/prometheus/node-exporter
  unit:
    description: Systemd unit of the distribution's node exporter.
    type: str
    default: prometheus-node-exporter.service
  program:
    description: Path of the node exporter.
    type: path
    default: /usr/bin/prometheus-node-exporter
  group:
    description: Group of the node exporter, which may read the key.
    type: str
    default: prometheus
  arguments_file:
    description: File with more arguments in the variable C(ARGS). It is not changed.
    type: path
    default: /etc/default/prometheus-node-exporter
attributes:
  check_mode:
    support: full
    description: Reports what would change.
  diff_mode:
    support: full
    description: Shows the files except the program.
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
  description: The node's certificate in PEM. Empty if the site serves the metrics, and in check mode on a new node.
  type: str
  returned: success
steps:
  description: Steps taken, or that check mode would take.
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
