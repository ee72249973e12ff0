# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.job_story."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._core_filter import core_filter

DOCUMENTATION = r"""
name: job_story
short_description: What happened to a training job, for the end of a report
version_added: "0.1.0"
description:
  - Nodes that were lost, replaced or left out, ranks that failed, hangs and slow nodes, a sentence each.
positional: first
options:
  _input:
    description: What M(gaudi3.scale.training_job_info) returned on the node of rank 0.
    type: dict
    required: true
  left_out:
    description: Nodes that the launch left out, and why, as P(gaudi3.scale.launch_nodes#filter) tells it.
    type: dict
    required: true
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Tell the story
  ansible.builtin.debug:
    msg: "{{ training_info | gaudi3.scale.job_story({}) }}"
"""

RETURN = r"""
_value:
  description: The sentences, in the order of time.
  type: list
  elements: str
"""


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"job_story": core_filter("module_utils._monitoring.watch", "job_story")}
