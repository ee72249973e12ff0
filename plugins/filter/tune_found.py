# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.tune_found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

DOCUMENTATION = r"""
name: tune_found
short_description: What a node says that a tuning study has found, as far as it can be true
version_added: "0.1.0"
description:
  - Takes the report of the node that keeps the study, and refuses, in one sentence, what is no report or has a best
    trial whose values are not of the study's space. The variables of a launch are made here, of those values alone.
positional: options, fixed, node
options:
  _input:
    description: The report, as JSON.
    type: str
    required: true
  options:
    description: The study's values, as C(playbooks/vars/tune.yml) has them.
    type: dict
    required: true
  fixed:
    description: Variables of C(gaudi3.scale.launch_training) that were not tuned.
    type: dict
    required: true
  node:
    description: The node that keeps the study.
    type: str
    required: true
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: What is the best?
  ansible.builtin.debug:
    msg: "{{ (text | gaudi3.scale.tune_found(__tune_options, __tune_fixed, __tune_keeper)).variables }}"
"""

RETURN = r"""
_value:
  description: >-
    V(title), V(columns), V(rows), V(notes), V(sections) and V(data), as M(gaudi3.scale.report) takes them;
    V(variables), those of the best for C(gaudi3.scale.launch_training), V(null) where there is none; and V(sick), the
    nodes that failed.
  type: dict
"""


def found(text: str, options: Mapping[str, Any], fixed: Mapping[str, Any], node: str) -> dict[str, Any]:
    """The report as it may be used; what cannot be is Ansible's own error."""
    # Here, since Ansible loads every filter of the collection to find one, in each of its forks anew.
    from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
    from ansible_collections.gaudi3.scale.plugins.module_utils._tuning.study import study_from
    from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import taken
    from ansible_collections.gaudi3.scale.plugins.plugin_utils._study_answer import study_report

    try:
        kept: dict[str, Any] = taken(node, "gaudi3_scale.tune report", study_report(study_from(options), fixed), text)
    except GaudiError as error:
        raise AnsibleFilterError(str(error)) from error
    return kept


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"tune_found": found}
