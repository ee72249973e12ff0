# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option for instances that serve models; its argument_spec is _serving.instance.INSTANCE_OPTIONS."""

from __future__ import annotations


class ModuleDocFragment:
    """What Ansible finds here."""

    DOCUMENTATION = r"""
options:
  instances:
    description: Instances that serve, one engine each. Those of a node are all that it is to have.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the instance, of lower-case letters, digits and dashes.
        type: str
        required: true
      model:
        description:
          - Model of the registry with an alias or version (V(llama-support@production)), or the absolute path of an
            exported directory.
        type: str
        required: true
      cards:
        description: Number of cards, among which the model is split. The node chooses which.
        type: int
        default: 0
      modules:
        description: Module ids of the cards, instead of C(cards).
        type: list
        elements: int
        default: []
      port:
        description: Port on which it answers.
        type: int
        required: true
      address:
        description:
          - Address of the node on which it answers. Any other than a loopback address needs a key and a
            certificate. Pods ignore it.
        type: str
        default: 127.0.0.1
      max_model_len:
        description: "Most tokens of a prompt and its answer together. 0: as many as the model can."
        type: int
        default: 0
      max_num_seqs:
        description: "Requests that are computed at the same time. 0: as many as the cards' memory has room for."
        type: int
        default: 0
      skip_warm_up:
        description: Whether graphs are compiled when requests need them, which then wait. For tests only.
        type: bool
        default: false
      flags:
        description: Further options of C(vllm serve), by their names without dashes.
        type: dict
        default: {}
      environment:
        description: Further variables of the engine.
        type: dict
        default: {}
"""
