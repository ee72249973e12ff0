#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: support_bundle
short_description: Collect a node's logs, versions and verdicts for support, without secrets
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Reads C(hl-smi), the kernel's messages, versions, firmware, flags, the last verdicts, and the logs and journal of
    jobs. Secrets are hidden before anything leaves the node, and files are cut to their end.
  - Writes nothing on the node. The archive is stored on the controller or in a bucket, below O(target).
  - In check mode it returns what would be in the archive, with sizes, and stores nothing.
options:
  jobs:
    description: "Names of training jobs whose logs are collected. Empty: the three newest of the node."
    type: list
    elements: str
    default: []
  max_mib:
    description: Maximum size of all texts, in MiB, before compression. What is less important is left out.
    type: int
    default: 16
  venv:
    description: Training environment whose versions are listed.
    type: path
    default: /opt/gaudi3_scale/venv
  state_directory:
    description: Directory with job state.
    type: path
    default: /var/lib/gaudi3_scale
  log_directory:
    description: Directory with job logs.
    type: path
    default: /var/log/gaudi3_scale
  target:
    description: Directory on the controller, or bucket, for the archive.
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Lists the contents, and stores nothing.
  diff_mode:
    support: none
    description: Changes nothing on the node, so there is no diff.
notes:
  - C(dmesg), C(hl-smi) and other accounts' logs are readable only by root, so run this with C(become).
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Collect a support bundle
  gaudi3.scale.support_bundle:
    jobs: [llama]
  become: true
  register: gaudi_support_result
"""

RETURN = r"""
contents:
  description: Files of the archive, and what is missing.
  type: list
  elements: dict
  returned: success
  contains:
    name:
      description: Path in the archive.
      type: str
      sample: cards/hl-smi.txt
    source:
      description: Command or file it comes from.
      type: str
      sample: hl-smi
    bytes:
      description: Size.
      type: int
    cut:
      description: Whether only the end is there.
      type: bool
    hidden:
      description: Number of places where a secret is hidden.
      type: int
    why:
      description: Why it is missing. Empty if it is not.
      type: str
archive:
  description: The archive in base64. The controller stores it, and removes it from the result. Empty in check mode.
  type: str
  returned: success
file:
  description: Path or URL of the archive.
  type: str
  returned: when stored
size:
  description: Size of the archive in bytes.
  type: int
  returned: when stored
error:
  description: Warning if the archive could not be stored in O(target). Empty otherwise.
  type: str
  returned: when stored
"""

import base64
import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import LOG_DIRECTORY, STATE_DIRECTORY
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.kernel_tree import kernel_tree
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._support.archive import packed
from ansible_collections.gaudi3.scale.plugins.module_utils._support.collection import Wanted, collected, texts_of
from ansible_collections.gaudi3.scale.plugins.module_utils._support.size import bytes_of

FOLDER = "support"


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        empty=("target",),
        argument_spec={
            "jobs": {"type": "list", "elements": "str", "default": []},
            "max_mib": {"type": "int", "default": 16},
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
            "state_directory": {"type": "path", "default": STATE_DIRECTORY},
            "log_directory": {"type": "path", "default": LOG_DIRECTORY},
            "target": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    wanted = Wanted(
        jobs=options["jobs"],
        most_bytes=bytes_of(options["max_mib"]),
        venv=options["venv"],
        state_directory=options["state_directory"],
        log_directory=options["log_directory"],
        kernel_root=kernel_tree(),
    )
    items = collected(wanted, run_process)
    found: dict[str, Any] = {"changed": False, "contents": [item.as_dict() for item in items], "archive": ""}
    if module.check_mode:
        return found
    now = int(time.time())
    heading = f"Support bundle of {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(now))}"
    archive = packed(texts_of(items, heading), FOLDER, now)
    return {**found, "archive": base64.b64encode(archive).decode("ascii")}


if __name__ == "__main__":
    main()
