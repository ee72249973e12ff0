# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.training_report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._core_filter import core_filter

DOCUMENTATION = r"""
name: training_report
short_description: The table and the page of a training job
version_added: "0.1.0"
description:
  - Makes of what the nodes know of a job what M(gaudi3.scale.report) takes - rows, notes, charts and sections.
  - Values of variables that sound like secrets are not in it.
positional: release, leader
options:
  _input:
    description: >-
      The variables of the job's nodes in the order of their ranks, as C(hostvars) has them, with C(training_info) and
      C(training_history) registered from M(gaudi3.scale.training_job_info) and M(gaudi3.scale.training_job_history).
    type: list
    elements: dict
    required: true
  release:
    description: The vendor's release that the nodes are meant to have.
    type: str
  leader:
    description: The node of rank 0, which knows how the job stands. Without it the first node that knows the job.
    type: str
    default: ""
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: What is on the page of a job?
  ansible.builtin.debug:
    msg: "{{ groups.gaudi | map('extract', hostvars) | gaudi3.scale.training_report }}"
"""

RETURN = r"""
_value:
  description: The options of M(gaudi3.scale.report) but for its title and its path.
  type: dict
"""


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"training_report": core_filter("plugin_utils._results.training_page", "training_report")}
