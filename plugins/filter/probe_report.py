# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.probe_report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

DOCUMENTATION = r"""
name: probe_report
short_description: The batch size that all nodes can run, and how it was found
version_added: "0.1.0"
description:
  - Reads what M(gaudi3.scale.hpu_batch_probe) left in the variable C(training_probe) of each host.
options:
  _input:
    description: The variables of the nodes, as C(hostvars) has them.
    type: list
    elements: dict
    required: true
  global_batch:
    description: How a wanted global batch is to be made - C(global_batch), C(world_size), C(multiple_of) and, where a
      learning rate is to be scaled, C(learning_rate), C(learning_rate_batch) and C(scaling), as
      M(gaudi3.scale.hpu_batch_probe) has them. Without C(global_batch) none is made.
    type: dict
    default: {}
  check_mode:
    description: Whether nothing was tried.
    type: bool
    default: false
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: What can all nodes run?
  ansible.builtin.debug:
    msg: "{{ (groups.gaudi | map('extract', hostvars) | gaudi3.scale.probe_report).batch_size }}"
"""

RETURN = r"""
_value:
  description: >-
    V(batch_size), what all nodes that have an answer can run; V(global_batch), how to make the wanted one; V(failures),
    a sentence for each host without an answer; and V(title), V(columns), V(rows), V(notes), V(sections) and V(charts),
    as M(gaudi3.scale.report) takes them.
  type: dict
"""

RESULT = "training_probe"


def report(
    hosts: Iterable[Mapping[str, Any]], global_batch: Mapping[str, Any] | None = None, check_mode: bool = False
) -> dict[str, Any]:
    """The report; what cannot be made is Ansible's own error."""
    # Here, since Ansible loads every filter of the collection to find one, in each of its forks anew.
    from ansible_collections.gaudi3.scale.plugins.module_utils._batch_size.choice import sharing
    from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
    from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.probe_report import probe_report

    results = {host["inventory_hostname"]: host[RESULT] for host in hosts if RESULT in host}
    wish = {"global_batch": None, **(global_batch or {})}
    try:
        return probe_report(results, sharing(**wish), check_mode)
    except GaudiError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"probe_report": report}
