#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: job_image
short_description: Bring a job's container image to its nodes
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Looks up the digest of O(image) once, on the first of O(hosts) that answers, and then fetches the image with that
    digest to all of them, as O(user), from a registry or from an archive on each node.
  - The image is unpacked below C(/var/lib/gaudi3_scale/images) and reused by all jobs of the account. One that no job
    names and that was not requested for a month is removed when the next one is fetched.
  - The controller runs it on all O(hosts) in parallel, so run it with C(run_once).
options:
  hosts:
    description: Inventory names of the nodes. The action plugin runs on each.
    type: list
    elements: str
    default: []
  image:
    description: The image, as O(gaudi3.scale.gaudi_training#role:main:gaudi_training_image).
    type: str
    default: ""
  state:
    description:
      - V(resolved) looks up the digest and fetches nothing. V(present) fetches the image, whose digest is given.
      - Set by the action plugin; do not set it.
    type: str
    choices: [resolved, present]
    default: resolved
  user:
    description: Account that runs the job.
    type: str
    default: gaudi
  plain_http_hosts:
    description: Hosts of registries without TLS.
    type: list
    elements: str
    default: []
  job:
    description: What else decides whether the job can run in a container. Checked by the action plugin.
    type: dict
    default: {}
    suboptions:
      mounts:
        description: As O(gaudi3.scale.training_job#module:mounts).
        type: list
        elements: str
        default: []
      engine:
        description: As O(gaudi3.scale.training_job#module:engine).
        type: str
        default: torchrun
      nodes:
        description: As O(gaudi3.scale.training_job#module:slurm.nodes).
        type: str
        default: hosts
      device:
        description: As O(gaudi3.scale.training_job#module:device).
        type: str
        default: hpu
      is_built_in:
        description: Whether the job is the built-in trainer.
        type: bool
        default: false
  timeout:
    description: Seconds for fetching, and again for unpacking.
    type: int
    default: 3600
attributes:
  check_mode:
    support: full
    description: Looks up the digest, and reports whether the image would be fetched.
  diff_mode:
    support: none
    description: There is none.
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Bring the image
  gaudi3.scale.job_image:
    hosts: [gaudi-01, gaudi-02]
    image: registry.example.org/team/train:1.24.1-482
  register: image
  run_once: true
"""

RETURN = r"""
image:
  description: The image with its digest, the same on every node.
  returned: success
  type: str
  sample: registry.example.org/team/train@sha256:6d5a6ffbcfbab4b7a7a3f8b3ba4c3e0bbf1d6b8a5f0a5ff3ed3b5e0ba9b4a1f2
directory:
  description: Where it lies on the node.
  returned: with O(state=present)
  type: str
  sample: /var/lib/gaudi3_scale/images/gaudi/sha256-6d5a6ffbcfbab4b7a7a3f8b3ba4c3e0bbf1d6b8a5f0a5ff3ed3b5e0ba9b4a1f2
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.container.jobs import JOB_ARGUMENTS
from ansible_collections.gaudi3.scale.plugins.module_utils._job.container.reference import (
    parse_pinned,
    parse_reference,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._launch.image_store import ImageOptions, bring, resolve
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.job_user import DEFAULT_USER, check_user
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "hosts": {"type": "list", "elements": "str", "default": []},
            "image": {"type": "str", "default": ""},
            "state": {"type": "str", "choices": ["resolved", "present"], "default": "resolved"},
            "user": {"type": "str", "default": DEFAULT_USER},
            "plain_http_hosts": {"type": "list", "elements": "str", "default": []},
            "job": {"type": "dict", "default": {}, "options": JOB_ARGUMENTS},
            "timeout": {"type": "int", "default": 3600},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    check_user(options["user"])
    if options["hosts"]:
        raise GaudiError("hosts is read on the controller, by the action plugin; run this as a task.")
    wanted = parse_pinned if options["state"] == "present" else parse_reference
    plain = tuple(options["plain_http_hosts"])
    asked = ImageOptions(wanted(options["image"]), options["user"], plain, options["timeout"])
    if options["state"] == "resolved":
        return {"changed": False, "image": resolve(asked, run_process)[0].pinned}
    return bring(asked, run_process, check_mode=module.check_mode)


if __name__ == "__main__":
    main()
