#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: serving_proxy
short_description: Run a proxy in front of models that are served
version_added: "1.0.0"
description:
  - Configures the distribution's C(haproxy) (2.4 or newer, with Lua), which must be installed, as a unit of its own
    beside any other configuration of the site. It sends each request to the instance of the model that it names with
    the fewest requests in flight.
  - Requests wait in the proxy while all instances are busy or none runs. A request whose instance is lost before its
    first token is sent to another one. Each instance is asked for a token every few seconds, so that one that hangs
    gets no more requests.
  - An instance gets requests only if it is admitted. O(state=drained) and O(state=ready) take one out and put it back
    without a reload, and stay so after a restart.
options:
  state:
    description:
      - V(present) runs the proxy for O(instances). V(absent) stops it and removes its files.
      - V(drained) takes the instance O(name) out, and waits up to O(wait) seconds for its requests to end.
      - V(ready) puts it back, or adds it, as O(instances) has it.
    type: str
    choices: [present, absent, drained, ready]
    default: present
  host:
    description: Name of this host in the inventory. Instances on loopback addresses of other nodes are refused.
    type: str
    default: ""
  address:
    description:
      - Address that the proxy answers at. Any other than a loopback address needs O(key_file) and O(certificate).
    type: str
    default: 127.0.0.1
  port:
    description: Port that the proxy answers at.
    type: int
    default: 8080
  instances:
    description: Instances, as M(gaudi3.scale.model_serving) returns them, with their nodes.
    type: list
    elements: dict
    default: []
    suboptions:
      node:
        description: Node of the instance.
        type: str
        required: true
      name:
        description: Name of the instance on its node.
        type: str
        required: true
      url:
        description: Where it answers.
        type: str
        required: true
      served_name:
        description: Name of its model in requests.
        type: str
        required: true
      max_num_seqs:
        description: Requests that it computes at the same time. One fewer is sent to it, so that checks find a seat.
        type: int
        required: true
      max_model_len:
        description: Most tokens of a prompt and its answer, by which the proxy's buffers are sized.
        type: int
        default: 0
      certificate:
        description: Certificate in PEM that an instance with an https URL must have.
        type: str
        default: ""
      admitted:
        description: Whether it gets requests.
        type: bool
        default: false
  nodes:
    description:
      - Nodes of the inventory, instead of O(instances) and O(keep_nodes). The controller takes what C(serving.yml)
        found of them in this run; instances of other nodes stay as they are.
    type: list
    elements: str
  keep_nodes:
    description: Nodes whose instances stay in the proxy as they are, if O(instances) has none of theirs.
    type: list
    elements: str
    default: []
  key_file:
    description:
      - File of this host with the key of the instances, in one line, with which the proxy asks them for a token.
        Clients send the key themselves, and the instances check it.
    type: path
  certificate:
    description: File of this host with the certificate of the proxy, in PEM, with its chain.
    type: path
  certificate_key:
    description: File of this host with the private key of O(certificate).
    type: path
  timeout:
    description: Seconds that a request may wait for an instance, and that an instance may be silent within one.
    type: int
    default: 1800
  health_timeout:
    description: Seconds that one token may take. An instance that takes longer twice gets no requests until it answers.
    type: int
    default: 30
  name:
    description: Instance to drain or to put back, as NODE:INSTANCE.
    type: str
    default: ""
  wait:
    description: Seconds to wait for requests to end. RV(in_flight) has how many are left.
    type: int
    default: 20
attributes:
  check_mode:
    support: full
    description: Reports what would change. The configuration is not checked, because haproxy may not be installed yet.
  diff_mode:
    support: full
    description: Shows the instances and the unit. The configuration has the key, and is not shown.
seealso:
  - module: gaudi3.scale.model_serving
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Answer for two nodes
  gaudi3.scale.serving_proxy:
    address: 10.0.0.2
    port: 8443
    key_file: /etc/gaudi3_scale/serving.key
    certificate: /etc/ssl/certs/serving.pem
    certificate_key: /etc/ssl/private/serving.key
    instances:
      - node: gaudi-01
        name: chat
        url: https://10.0.0.11:8000
        certificate: "{{ certificates['gaudi-01'] }}"
        served_name: llama-support
        max_num_seqs: 64
        admitted: true
  become: true

- name: Take an instance out before its node is repaired
  gaudi3.scale.serving_proxy:
    state: drained
    name: gaudi-02:chat
    wait: 600
  register: drained
  failed_when: drained.in_flight > 0
  become: true
"""

RETURN = r"""
servers:
  description: Instances of the proxy.
  type: list
  elements: dict
  returned: success
  contains:
    name:
      description: The instance, as NODE:INSTANCE.
      type: str
    model:
      description: Name of its model.
      type: str
    admitted:
      description: Whether it gets requests.
      type: bool
in_flight:
  description: Requests that the drained instance is still answering.
  type: int
  returned: O(state=drained) or O(state=ready)
steps:
  description: What was done, or would be.
  type: list
  elements: str
  returned: success
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.proxy_options import (
    INSTANCE_OPTIONS,
    STATES,
    ProxyOptions,
    parse_servers,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.proxy_state import converge


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        empty=("host", "name", "instances.certificate"),
        text=("instances.certificate",),
        argument_spec={
            "state": {"type": "str", "choices": list(STATES), "default": "present"},
            "host": {"type": "str", "default": ""},
            "address": {"type": "str", "default": "127.0.0.1"},
            "port": {"type": "int", "default": 8080},
            "instances": {"type": "list", "elements": "dict", "default": [], "options": INSTANCE_OPTIONS},
            # The controller has read them by then.
            "nodes": {"type": "list", "elements": "str"},
            "keep_nodes": {"type": "list", "elements": "str", "default": []},
            "key_file": {"type": "path", "no_log": False},
            "certificate": {"type": "path"},
            "certificate_key": {"type": "path", "no_log": False},
            "timeout": {"type": "int", "default": 1800},
            "health_timeout": {"type": "int", "default": 30},
            "name": {"type": "str", "default": ""},
            "wait": {"type": "int", "default": 20},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    plain: dict[str, Any] = {name: "" if value is None else value for name, value in given.items() if name != "nodes"}
    servers = parse_servers(given["instances"], given["host"])
    told = {**plain, "instances": servers, "keep_nodes": tuple(given["keep_nodes"])}
    return converge(ProxyOptions(**told), run_process, module.check_mode)


if __name__ == "__main__":
    main()
