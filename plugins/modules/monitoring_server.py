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
  - Configures the distribution's Prometheus and Alertmanager, which must be installed, to scrape the nodes that
    M(gaudi3.scale.hpu_exporter) set up, evaluate O(rules), and send alerts to O(webhooks).
  - Prometheus listens only on O(address), over TLS, and answers only clients whose certificate is in O(readers). There
    are no accounts and no passwords. Alertmanager answers this machine only.
  - C(promtool) and C(amtool) check the rules and the alert routing before anything is written.
options:
  state:
    description: Whether the machine monitors the nodes. V(absent) stops both services and keeps their stored data.
    type: str
    choices: [present, absent]
    default: present
  nodes:
    description: Nodes, each with the address and port of its node exporter. Alerts use these names.
    type: dict
    default: {}
  node_certificates:
    description:
      - Certificates of the nodes, by name, as M(gaudi3.scale.hpu_exporter) returns them. Answers with any other
        certificate are rejected.
      - Certificates of nodes that are not listed are kept from previous runs.
    type: dict
    default: {}
  node_names:
    description:
      - Additional names and addresses allowed in a node's certificate, as a mapping from node name to list. A
        certificate may contain no others besides these and those in O(nodes).
    type: dict
    default: {}
  rules:
    description: Rule files by name, each as text. Names start with C(gaudi_); other files in that directory stay.
    type: dict
    default: {}
  rules_from:
    description:
      - Directory on the controller whose files C(gaudi_*.yml) are O(rules). Braces in them are Prometheus templates,
        not Ansible templates.
    type: path
  alerts_page:
    description:
      - URL of the alerts page, such as C(https://ops.example.org/gaudi/alerts.html). Alerts of O(rules) then link to
        their section on it instead of this project's page.
    type: str
    default: ""
  retention:
    description: Retention time of stored values.
    type: str
    default: 30d
  address:
    description: Address that Prometheus listens on.
    type: str
    default: 127.0.0.1
  port:
    description: Port that Prometheus listens on.
    type: int
    default: 9090
  alertmanager_port:
    description: Port on this machine that Alertmanager listens on.
    type: int
    default: 9093
  vendor_port:
    description:
      - "Port of the vendor's exporter on each node, by default V(41611). It is then scraped too, every 30 seconds over
        plain HTTP, the only protocol it supports. Rules convert its metrics to this collection's names and units. V(0):
        not scraped."
    type: int
    default: 0
  all_interfaces:
    description: Allow O(address) to be all addresses of the machine, V(0.0.0.0) or V(::).
    type: bool
    default: false
  readers:
    description:
      - Certificates, in PEM, of clients that may query Prometheus. Empty is refused unless O(address) is a loopback.
    type: list
    elements: str
    default: []
  webhooks:
    description: Receivers of all alerts.
    type: list
    elements: dict
    default: []
    suboptions:
      url:
        description: URL of the receiver.
        type: str
        required: true
      token:
        description: Token that the receiver expects. It is stored in a file that root and O(group) can read.
        type: str
        default: ""
  quarantine:
    description: Receiver of alerts that ask for their node to be taken out of service.
    type: dict
    suboptions:
      url:
        description: URL of the receiver, the rulebook C(gaudi3.scale.quarantine).
        type: str
        required: true
      token:
        description: Token, as in O(webhooks).
        type: str
        default: ""
  names:
    description: Names and addresses by which Prometheus is reached, for its certificate.
    type: list
    elements: str
    default: [localhost, 127.0.0.1]
  group:
    description: Group that both services run as.
    type: str
    default: prometheus
  prometheus_unit:
    description: Systemd unit of the distribution's Prometheus.
    type: str
    default: prometheus.service
  prometheus_program:
    description: Path of Prometheus.
    type: path
    default: /usr/bin/prometheus
  alertmanager_unit:
    description: Systemd unit of the distribution's Alertmanager.
    type: str
    default: prometheus-alertmanager.service
  alertmanager_program:
    description: Path of Alertmanager.
    type: path
    default: /usr/bin/prometheus-alertmanager
attributes:
  check_mode:
    support: full
    description: Reports what would change. Rules are not checked, because the tools may not be installed yet.
  diff_mode:
    support: full
    description: Shows the files, except tokens and the file with webhook URLs.
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
  description: Steps taken, or that check mode would take.
  type: list
  elements: str
  returned: success
unknown:
  description:
    - Nodes without a valid certificate - not received yet, issued for names other than the node's, able to sign other
      certificates, or not a certificate. Their answers are rejected. A warning gives the reason.
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
