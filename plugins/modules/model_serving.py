#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: model_serving
short_description: Serve models with vLLM on some of a node's cards
version_added: "1.0.0"
description:
  - Brings the node to serve O(instances), each with vLLM and its plug-in for Gaudi, as a hardened systemd unit of the
    account C(gaudi-serving). Instances of the node that the list does not have are stopped and removed.
  - The engine is installed as a layer on O(venv), or O(image) is fetched and run with podman.
  - A model of the registry is verified and copied to C(/var/lib/gaudi3_scale/serving/models). Before each start of a
    unit every byte of its model is compared with the model's record.
  - Memory for the KV cache is planned by the vendor's formula (RV(instances[].memory)). What does not fit is refused.
  - The task ends when each instance has answered one real completion. Its warm-up is shown meanwhile.
options:
  state:
    description:
      - Whether the instances run. V(stopped) keeps them set up and does not start them at boot. V(absent) removes all
        instances of the node, whatever O(instances) lists.
    type: str
    choices: [started, stopped, absent]
    default: started
  only:
    description: "Names of the instances that may change. Others are left as they are. Empty: all."
    type: list
    elements: str
    default: []
  registry:
    description: Place of the registry of models, a directory or a bucket.
    type: str
    default: /srv/gaudi3_scale_models
  fingerprint:
    description: "Fingerprint of the key that must have signed models of the registry. Empty: the key in the registry."
    type: str
    default: ""
  release:
    description: Release of the Gaudi software on the node.
    type: str
    required: true
  release_overrides:
    description: Rows that replace or add releases, as a mapping from version to fields of a release.
    type: dict
    default: {}
  engine_version:
    description: "Version of vLLM and its plug-in. Empty: the newest that was tested with O(release)."
    type: str
    default: ""
  image:
    description:
      - "Container image with the engine, by a tag other than C(latest) or a digest. Empty: a layer on O(venv)."
    type: str
    default: ""
  plain_http_hosts:
    description: Registries of images that are asked without TLS.
    type: list
    elements: str
    default: []
  venv:
    description: Virtual environment with PyTorch for Gaudi.
    type: path
    default: /opt/gaudi3_scale/venv
  key_file:
    description: File of the node with the key that clients have to send, in one line; only root may read it.
    type: path
  certificate:
    description: File of the node with the certificate of its server, in PEM.
    type: path
  certificate_key:
    description: File of the node with the private key of O(certificate); only root may read it.
    type: path
  accept_holes:
    description: Known holes of the engine's version that the site accepts, by name.
    type: list
    elements: str
    default: []
  drain_timeout:
    description: Seconds that requests get to end when an instance is stopped.
    type: int
    default: 120
  ready_timeout:
    description: Seconds that an instance may take from its start to its first answer.
    type: int
    default: 7200
  wait:
    description:
      - Seconds for which one call of the module waits for answers. The task calls it until RV(instances[].state) is
        V(answering), and shows the warm-up after each call.
    type: int
    default: 20
attributes:
  check_mode:
    support: full
    description: Finds and sizes the models, refuses what cannot be, and changes nothing.
  diff_mode:
    support: full
    description: Shows the units and their files.
extends_documentation_fragment:
  - gaudi3.scale.instances
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Serve the model in production on four cards
  gaudi3.scale.model_serving:
    release: 1.24.1
    registry: /shared/models
    instances:
      - name: chat
        model: llama-support@production
        cards: 4
        port: 8000
        max_model_len: 4352
  become: true

- name: Serve nothing
  gaudi3.scale.model_serving:
    release: 1.24.1
    state: absent
  become: true
"""

RETURN = r"""
instances:
  description: The instances, in their order.
  type: list
  elements: dict
  returned: success
  contains:
    name:
      description: Name of the instance.
      type: str
    url:
      description: Where it answers.
      type: str
    served_name:
      description: Name of the model in requests.
      type: str
    unit:
      description: Its systemd unit.
      type: str
    model:
      description: Directory of the model.
      type: str
    version:
      description: SHA-256 of the model's record.
      type: str
    modules:
      description: Module ids of its cards.
      type: list
      elements: int
    limits:
      description: Its limits.
      type: dict
      contains:
        max_model_len:
          description: Most tokens of a prompt and its answer.
          type: int
        max_num_seqs:
          description: Requests that are computed at the same time.
          type: int
    memory:
      description: How its cards' memory was planned, as two lines.
      type: list
      elements: str
    graphs:
      description: About how many graphs its warm-up compiles. 0 if the buckets are not ours.
      type: int
    state:
      description: V(answering), V(starting) or V(stopped).
      type: str
    warm_up:
      description: How far its warm-up is, or how long it took.
      type: str
    done:
      description: Graphs of this phase that are compiled.
      type: int
    of:
      description: Graphs of this phase.
      type: int
engine:
  description: Version of vLLM. Empty if there is none.
  type: str
  returned: success
  sample: 0.26.0
steps:
  description: What was done, or would be.
  type: list
  elements: str
  returned: success
removed:
  description: Instances that were removed.
  type: list
  elements: str
  returned: success
instance:
  description: Instance that did not start.
  type: str
  returned: failure
log:
  description: Last lines of its log.
  type: list
  elements: str
  returned: failure
sum:
  description: How the memory was planned that does not suffice.
  type: list
  elements: str
  returned: failure
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import kernel_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.instance import INSTANCE_OPTIONS, parse_instances
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.node_plan import Node
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.options import STATES, ServingOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.runtime import RuntimeOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.state import converge

RUNTIME = ("image", "venv", "plain_http_hosts")


def main() -> None:
    strings = {"type": "list", "elements": "str", "default": []}
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "state": {"type": "str", "choices": list(STATES), "default": "started"},
            "instances": {"type": "list", "elements": "dict", "default": [], "options": INSTANCE_OPTIONS},
            "only": strings,
            "registry": {"type": "str", "default": "/srv/gaudi3_scale_models"},
            "fingerprint": {"type": "str", "default": ""},
            "release": {"type": "str", "required": True},
            "release_overrides": {"type": "dict", "default": {}},
            "engine_version": {"type": "str", "default": ""},
            "image": {"type": "str", "default": ""},
            "plain_http_hosts": strings,
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
            "key_file": {"type": "path", "no_log": False},
            "certificate": {"type": "path"},
            "certificate_key": {"type": "path", "no_log": False},
            "accept_holes": strings,
            "drain_timeout": {"type": "int", "default": 120},
            "ready_timeout": {"type": "int", "default": 7200},
            "wait": {"type": "int", "default": 20},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    runtime = RuntimeOptions(given["image"], given["venv"], tuple(given["plain_http_hosts"]))
    lists = {name: tuple(given[name]) for name in ("only", "accept_holes")}
    plain = {name: "" if value is None else value for name, value in given.items() if name not in RUNTIME}
    told: dict[str, Any] = {**plain, **lists, "instances": parse_instances(given["instances"]), "runtime": runtime}
    options = ServingOptions(**told)
    return converge(options, run_process, module.check_mode, Node(kernel_tree()))


if __name__ == "__main__":
    main()
