#!/usr/bin/python
# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: serving_change
short_description: Admit an instance by its answers, or take it through a change
version_added: "1.0.0"
description:
  - Internal to the roles of this collection. Do not use it directly, its options may change in any release.
  - Compares what instances of M(gaudi3.scale.model_serving) answer with the record of their model, and keeps what an
    instance was while it is changed.
options:
  step:
    description:
      - V(look) tells whether a change was begun. V(keep) keeps the instance as it is. V(idle) waits until its engine
        has no request.
      - V(admit) asks for the answers in the model's record and compares them. V(restore) puts back what was kept and
        waits until it answers. V(done) forgets it. V(ask) asks for one completion.
    type: str
    choices: [look, keep, idle, admit, restore, done, ask]
    required: true
  instances:
    description: "Names of instances of the node. V(admit) takes several. Empty: all."
    type: list
    elements: str
    default: []
  limit_ms:
    description: "Milliseconds within which half of the answers have to come. 0: no limit."
    type: float
    default: 0
  wait:
    description: Seconds for V(idle) and V(restore).
    type: int
    default: 20
  forget:
    description: Whether V(admit) forgets what an admitted instance was before.
    type: bool
    default: false
  prompt:
    description: Prompt for V(ask).
    type: str
    default: ""
attributes:
  check_mode:
    support: partial
    description: Can run in check mode.
    details: Asks no instance, and restores nothing.
  diff_mode:
    support: none
    description: There is no diff of answers.
seealso:
  - module: gaudi3.scale.model_serving
  - module: gaudi3.scale.serving_proxy
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Compare the answers of all instances with their records
  gaudi3.scale.serving_change:
    step: admit
  become: true
"""

RETURN = r"""
instances:
  description: Instances that were asked. Not in check mode.
  type: list
  elements: dict
  returned: O(step=admit)
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
    version:
      description: Version of the model.
      type: str
    max_num_seqs:
      description: Requests that are computed at the same time.
      type: int
    max_model_len:
      description: Most tokens of a prompt and its answer.
      type: int
    certificate:
      description: Certificate of its server, in PEM.
      type: str
    admitted:
      description: Whether it answers as its model was trained, within the limit.
      type: bool
    reason:
      description: Why not.
      type: str
    windows:
      description: Windows of tokens that were asked for.
      type: int
    milliseconds:
      description: Median time of an answer.
      type: float
kept:
  description: Whether a change was begun and has not ended.
  type: bool
  returned: O(step=look)
exists:
  description: Whether the node has the instance.
  type: bool
  returned: O(step=look)
text:
  description: Completion of the prompt.
  type: str
  returned: O(step=ask)
served_name:
  description: Name of the model in requests.
  type: str
  returned: O(step=ask)
in_flight:
  description: Requests that the engine still has.
  type: int
  returned: O(step=idle)
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._node.module_run import run_module
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.change_step import STEPS, StepOptions, take


def main() -> None:
    run_module(
        AnsibleModule,
        answer,
        empty=("prompt",),
        text=("prompt",),
        argument_spec={
            "step": {"type": "str", "choices": list(STEPS), "required": True},
            "instances": {"type": "list", "elements": "str", "default": []},
            "limit_ms": {"type": "float", "default": 0.0},
            "wait": {"type": "int", "default": 20},
            "forget": {"type": "bool", "default": False},
            "prompt": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )


def answer(given: dict[str, Any], module: AnsibleModule) -> dict[str, Any]:
    told = {**given, "instances": tuple(given["instances"])}
    return take(StepOptions(**told), run_process, module.check_mode)


if __name__ == "__main__":
    main()
