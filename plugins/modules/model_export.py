#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: model_export
short_description: Export a job's checkpoint as a model that can be served
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Runs C(gaudi3_scale export) of the training venv as O(user). It writes safetensors files, C(config.json) and the
    tokenizer, reads them back, and compares weights and logits with those of the checkpoint. O(directory) exists only
    if all are equal.
  - An export that was interrupted resumes, and one that is complete is verified and left as it is.
options:
  checkpoint:
    description: A checkpoint, or a directory of checkpoints, of which the newest is exported.
    type: path
    required: true
  directory:
    description: Directory of the exported model. It must not exist, or be an export of the same checkpoint.
    type: path
    required: true
  venv:
    description: Training venv, with the extra C(hf).
    type: path
    default: /opt/gaudi3_scale/venv
  user:
    description: Account that exports, which is that of the job.
    type: str
    default: gaudi
attributes:
  check_mode:
    support: partial
    description: Can run in check mode.
    details: Reads no checkpoint, and reports a change.
  diff_mode:
    support: none
    description: There is no diff of weights.
seealso:
  - module: gaudi3.scale.training_job
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Export the newest checkpoint of a job
  gaudi3.scale.model_export:
    checkpoint: /var/lib/gaudi3_scale/jobs/llama
    directory: /srv/models/llama
  become: true
"""

RETURN = r"""
directory:
  description: Directory of the exported model.
  type: str
  returned: success
lines:
  description: Output of the export. Empty in check mode.
  type: list
  elements: str
  returned: success
  sample:
    - "/srv/models/llama: complete (41 s)"
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._export.state import ExportOptions, converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        argument_spec={
            "checkpoint": {"type": "path", "required": True},
            "directory": {"type": "path", "required": True},
            "venv": {"type": "path", "default": "/opt/gaudi3_scale/venv"},
            "user": {"type": "str", "default": "gaudi"},
        },
        supports_check_mode=True,
    )


def answer(options: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    """Export, or find that it was done."""
    return converge(ExportOptions(**options), run_process, module.check_mode)


if __name__ == "__main__":
    main()
