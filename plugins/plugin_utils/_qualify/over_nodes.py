# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The nodes of an action's options, as groups of them are measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_collectives import Collectives
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_jobs import Ranks
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_limit import Limits
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import ANSWER_SECONDS, addresses, questions
from ansible_collections.gaudi3.scale.plugins.plugin_utils._on_nodes import given
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.network import Over
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import show

# What a qualification and a search take alike.
OPTIONS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str"},
    "tolerance": {"type": "float", "default": 0.15},
    "sizes": {"type": "list", "elements": "int", "default": [1 << 20, 1 << 28]},
    "seconds": {"type": "float", "default": 1.0},
    "group_timeout": {"type": "int", "default": 120},
    "start_timeout": {"type": "int", "default": 300},
    "device": {"type": "str", "default": "hpu"},
    "processes_per_node": {"type": "int", "default": 8},
    "rendezvous_port": {"type": "int", "default": 29540},
    "job": {"type": "dict", "default": {}},
}


def over_nodes(action: ActionBase, options: Mapping[str, Any], task_vars: dict[str, Any], longest: float) -> Over:
    """``longest``: seconds of the longest job of a group, once its ranks run."""
    hosts = options["hosts"]
    names = ("device", "processes_per_node", "rendezvous_port")
    limits = Limits(options["start_timeout"], "gaudi_qualify_group_timeout", "gaudi_qualify_start_timeout")
    ranks = Ranks(
        **{name: options[name] for name in names},
        timeout=options["group_timeout"],
        job=given(options["job"]),
        limits=limits,
    )
    wanted = Collectives(options["sizes"], ranks, seconds=options["seconds"])
    ask = questions(action, hosts, task_vars, options["start_timeout"] + longest + ANSWER_SECONDS)
    return Over(wanted, addresses(hosts, task_vars), ask, show)


def tolerance_refusal(options: Mapping[str, Any]) -> str:
    """One sentence for a tolerance that means nothing; else empty."""
    if 0 < options["tolerance"] < 1:
        return ""
    return f"tolerance is {options['tolerance']:g}; give a part between 0 and 1, such as 0.15."
