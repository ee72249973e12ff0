# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""One module asked of several nodes at the same time, each with options of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible import constants as C  # noqa: N812 - as all of Ansible has it
from ansible.plugins.action import ActionBase
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_action import NodeAction, UnreachableError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._on_nodes import on_nodes

# What a node needs beside the ranks' own time: ssh, a start, a stop.
ANSWER_SECONDS = 120

Answer = Mapping[str, Any]
# A module's name, and its options by node: each node's result comes back. One that does not answer has ``unreachable``
# and ``msg``. An option that is a function is called when the node's turn comes, which may be minutes later.
Ask = Callable[[str, Mapping[str, Mapping[str, Any]]], Mapping[str, Answer]]


def addresses(hosts: Sequence[str], task_vars: Mapping[str, Any]) -> dict[str, str]:
    """Host -> its address, as the other hosts reach it."""
    return {host: str(task_vars["hostvars"][host].get("ansible_host", host)) for host in hosts}


def questions(
    action: ActionBase, hosts: Sequence[str], task_vars: dict[str, Any], timeout: float, at_once: int = 0
) -> Ask:
    """Ask ``hosts``, ``at_once`` or Ansible's forks at a time; none is waited for longer than ``timeout`` seconds."""
    nodes = {node: NodeAction(action, node, task_vars) for node in hosts}
    forks = at_once or int(task_vars.get("ansible_forks") or C.DEFAULT_FORKS)

    def ask(module: str, arguments: Mapping[str, Mapping[str, Any]]) -> dict[str, Answer]:
        def work(node: str) -> dict[str, Any]:
            try:
                return nodes[node].module(module, _now(arguments[node]), timeout)
            except UnreachableError as reason:
                return {"unreachable": True, "msg": str(reason)}

        return dict(on_nodes(work, list(arguments), forks))

    return ask


def _now(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value() if callable(value) else value for name, value in options.items()}
