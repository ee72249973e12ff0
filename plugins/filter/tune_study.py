# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.tune_study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

DOCUMENTATION = r"""
name: tune_study
short_description: A tuning study, checked before any node is touched
version_added: "0.1.0"
description:
  - Takes what the playbook C(gaudi3.scale.tune_training) makes of its variables, and refuses, in one sentence, what
    cannot be meant.
options:
  _input:
    description: The study's values, as C(playbooks/vars/tune.yml) has them.
    type: dict
    required: true
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Which flags would be tried?
  ansible.builtin.debug:
    msg: "{{ (__tune_options | gaudi3.scale.tune_study).flag_sets }}"
"""

RETURN = r"""
_value:
  description: >-
    V(study), the values that the nodes get, and V(flag_sets), mappings that together have each value of each flag.
  type: dict
"""


def planned(options: Mapping[str, Any]) -> dict[str, object]:
    """The study; what cannot be meant is Ansible's own error."""
    # Here, since Ansible loads every filter of the collection to find one, in each of its forks anew.
    from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
    from ansible_collections.gaudi3.scale.plugins.module_utils._tuning.study import plan

    try:
        return plan(options)
    except GaudiError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"tune_study": planned}
