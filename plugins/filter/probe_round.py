# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter gaudi3.scale.probe_round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

DOCUMENTATION = r"""
name: probe_round
short_description: Which nodes probe the batch size next, and which verify it
version_added: "0.1.0"
description:
  - Reads what M(gaudi3.scale.hpu_batch_probe) left in the variable C(training_probe) of each host.
  - Of the nodes that are the same for a probe the first sound one searches. When every kind has an answer, the others
    verify the least of them.
options:
  _input:
    description: The variables of the nodes, as C(hostvars) has them.
    type: list
    elements: dict
    required: true
author: The gaudi3.scale authors (@gaudi3-scale)
"""

EXAMPLES = r"""
- name: Who is next?
  ansible.builtin.debug:
    msg: "{{ groups.gaudi | map('extract', hostvars) | gaudi3.scale.probe_round }}"
"""

RETURN = r"""
_value:
  description: V(search) and V(verify), names of hosts, and V(batch_size), what is to be verified, or V(null).
  type: dict
"""

RESULT = "training_probe"


def probe_round(hosts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The next round; a host without a result has no part in it."""
    # Here, since Ansible loads every filter of the collection to find one, in each of its forks anew.
    from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.probe_inventory import next_round

    results = {host["inventory_hostname"]: host[RESULT] for host in hosts if RESULT in host}
    plan = asdict(next_round(results))
    return {**plan, "search": list(plan["search"]), "verify": list(plan["verify"])}


class FilterModule:
    """What Ansible finds here."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"probe_round": probe_round}
