#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: monitoring_server
short_description: Set up Prometheus and Alertmanager on a monitoring server
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Sets up the distribution's Prometheus and Alertmanager, which have to be installed, to read the nodes that
    M(gaudi3.scale.hpu_exporter) has set up, to judge them by O(rules), and to send alerts to O(webhooks).
  - Prometheus listens at O(address) alone, over TLS, and answers those alone whose certificate is among O(readers).
    There are no accounts and so no passwords. Alertmanager answers this machine alone.
  - Rules, and the way of an alert, are checked by C(promtool) and C(amtool) before anything is written.
options:
  state:
    description: Whether the machine watches the nodes. V(absent) stops both, and keeps what they have stored.
    type: str
    choices: [present, absent]
    default: present
  nodes:
    description: The nodes, each with the address and port of its node exporter. Their names are those in alerts.
    type: dict
    default: {}
  node_certificates:
    description:
      - The nodes' certificates by name, as M(gaudi3.scale.hpu_exporter) returns them. No other answer is believed.
      - Those of nodes that are not among them are kept from the runs before.
    type: dict
    default: {}
  node_names:
    description:
      - Further names and addresses that the certificate of a node may have, in a list by the node's name. It may have
        none beside these and those in O(nodes).
    type: dict
    default: {}
  rules:
    description: Files of rules by name, each as text. Names begin with C(gaudi_); others in that directory stay.
    type: dict
    default: {}
  rules_from:
    description:
      - A directory of the controller whose files C(gaudi_*.yml) are O(rules). What is in braces in them is Prometheus',
        and no template of Ansible's.
    type: path
  alerts_page:
    description:
      - The address of the page about alerts, as C(https://ops.example.org/gaudi/alerts.html). Alerts of O(rules) then
        link to it, each to the section of its name, in place of that page of this project.
    type: str
    default: ""
  retention:
    description: How long values are kept.
    type: str
    default: 30d
  address:
    description: The address at which Prometheus listens.
    type: str
    default: 127.0.0.1
  port:
    description: The port at which Prometheus listens.
    type: int
    default: 9090
  alertmanager_port:
    description: The port of this machine at which Alertmanager listens.
    type: int
    default: 9093
  vendor_port:
    description:
      - The port of the vendor's exporter on each node, V(41611) as it comes, which is then read too, each 30 seconds
        and over plain HTTP as it speaks it. Rules give what it says this collection's names and units. V(0) reads none.
    type: int
    default: 0
  all_interfaces:
    description: Says that O(address) may be all addresses of the machine, V(0.0.0.0) or V(::).
    type: bool
    default: false
  readers:
    description: Certificates, in PEM, of who may ask Prometheus. Empty is refused unless O(address) is a loopback.
    type: list
    elements: str
    default: []
  webhooks:
    description: Where all alerts are sent.
    type: list
    elements: dict
    default: []
    suboptions:
      url:
        description: The receiver's address.
        type: str
        required: true
      token:
        description: What the receiver wants to hear; it is kept in a file that root and O(group) read.
        type: str
        default: ""
  quarantine:
    description: Where alerts are sent that ask for their node to be taken out of service.
    type: dict
    suboptions:
      url:
        description: The receiver's address, which is that of the rulebook C(gaudi3.scale.quarantine).
        type: str
        required: true
      token:
        description: As of O(webhooks).
        type: str
        default: ""
  names:
    description: Names and addresses by which Prometheus is reached. They are in its certificate.
    type: list
    elements: str
    default: [localhost, 127.0.0.1]
  group:
    description: The group that both run as.
    type: str
    default: prometheus
  prometheus_unit:
    description: The unit of the distribution's Prometheus.
    type: str
    default: prometheus.service
  prometheus_program:
    description: Its program.
    type: path
    default: /usr/bin/prometheus
  alertmanager_unit:
    description: The unit of the distribution's Alertmanager.
    type: str
    default: prometheus-alertmanager.service
  alertmanager_program:
    description: Its program.
    type: path
    default: /usr/bin/prometheus-alertmanager
attributes:
  check_mode:
    support: full
    description: Tells what would change. Rules are not checked, since what checks them may not be installed yet.
  diff_mode:
    support: full
    description: Shows the files, but neither tokens nor the file with the addresses of webhooks.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Monitor two nodes
  gaudi3.scale.monitoring_server:
    nodes:
      gaudi-01: 10.0.0.11:9100
      gaudi-02: 10.0.0.12:9100
    node_certificates: "{{ certificates_by_node }}"
    rules_from: "{{ playbook_dir }}/rules"
    quarantine:
      url: http://127.0.0.1:5050/
      token: "{{ token_of_the_rulebook }}"
  become: true
"""

RETURN = r"""
steps:
  description: What was done, or would be.
  type: list
  elements: str
  returned: success
unknown:
  description:
    - Nodes whose certificate nobody has told yet, or told one that is for other names than the node's own, signs
      others, or is none. Their answers are not believed. A warning says why.
  type: list
  elements: str
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._monitoring.options import FORMS, options_from
from ansible_collections.gaudi3.scale.plugins.module_utils._monitoring.state import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module

WEBHOOK = {"url": {"type": "str", "required": True}, "token": {"type": "str", "default": "", "no_log": True}}


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        text=("readers", "node_certificates", "rules"),
        long=("rules",),
        empty=("webhooks.token", "quarantine.token"),
        forms=FORMS,
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "nodes": {"type": "dict", "default": {}},
            "node_certificates": {"type": "dict", "default": {}},
            "node_names": {"type": "dict", "default": {}},
            "rules": {"type": "dict", "default": {}},
            # The controller has read it by then.
            "rules_from": {"type": "path"},
            "alerts_page": {"type": "str", "default": ""},
            "retention": {"type": "str", "default": "30d"},
            "address": {"type": "str", "default": "127.0.0.1"},
            "port": {"type": "int", "default": 9090},
            "alertmanager_port": {"type": "int", "default": 9093},
            "vendor_port": {"type": "int", "default": 0},
            "all_interfaces": {"type": "bool", "default": False},
            "readers": {"type": "list", "elements": "str", "default": []},
            "webhooks": {"type": "list", "elements": "dict", "default": [], "options": WEBHOOK},
            "quarantine": {"type": "dict", "options": WEBHOOK},
            "names": {"type": "list", "elements": "str", "default": ["localhost", "127.0.0.1"]},
            "group": {"type": "str", "default": "prometheus"},
            "prometheus_unit": {"type": "str", "default": "prometheus.service"},
            "prometheus_program": {"type": "path", "default": "/usr/bin/prometheus"},
            "alertmanager_unit": {"type": "str", "default": "prometheus-alertmanager.service"},
            "alertmanager_program": {"type": "path", "default": "/usr/bin/prometheus-alertmanager"},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    """Set up the server, or take it away, and report."""
    return converge(options_from(given), run_process, module.check_mode)


if __name__ == "__main__":
    main()
