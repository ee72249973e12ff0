# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure each card, node, pair of nodes and the ring of all, and tell which hosts a job may have."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleError
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.matrix import LEVELS as OWN_LEVELS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_collectives import sizes_refusal
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import literals
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._on_nodes import given
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.baseline_file import keep_baseline, read_baseline
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.conclusion import (
    About,
    data_of,
    held_against,
    kept_out,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.funnel import Found, Wishes, qualify
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.levels import LEVELS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.over_nodes import (
    OPTIONS,
    over_nodes,
    tolerance_refusal,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.search import search
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.stages import STAGES
from ansible_collections.gaudi3.scale.plugins.plugin_utils._task_answer import failed

ARGUMENTS: dict[str, dict[str, Any]] = {
    **OPTIONS,
    "step": {"type": "str", "choices": ["qualify", "search", "keep_baseline"], "default": "qualify"},
    "expected": {"type": "float", "default": 0.0},
    "report": {"type": "str"},
    "level": {"type": "str", "choices": list(OWN_LEVELS), "default": "quick"},
    "stages": {"type": "list", "elements": "str", "choices": list(STAGES), "default": list(STAGES)},
    "own": {"type": "dict", "default": {}},
    "follow": {"type": "bool", "default": True},
    "timeout": {"type": "int", "default": 0},
    "compute": {"type": "list", "elements": "str", "default": []},
    "pair_rounds": {"type": "int", "default": 0},
    "text": {"type": "list", "elements": "str", "default": []},
    "training_steps": {"type": "int", "default": 0},
    "baseline": {"type": "str"},
    "regression": {"type": "float", "default": 0.05},
    "spares": {"type": "int", "default": 0},
    "max_drained_fraction": {"type": "float", "default": 0.0},
}
REQUIRED_IF = [
    ("step", "qualify", ["hosts"]),
    ("step", "search", ["hosts"]),
    ("step", "keep_baseline", ["report", "baseline"]),
]


class ActionModule(NodeModule):
    """See the documentation of the module ``gaudi3.scale.node_qualification``."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Measure, or keep what was measured; what is wrong with a node is no failure of this task."""
        super().run(tmp, task_vars)
        options = self.validate_argument_spec(argument_spec=ARGUMENTS, required_if=REQUIRED_IF)[1]
        if refusal := _refusal(options):
            return {"failed": True, "msg": refusal}
        try:
            if options["step"] == "keep_baseline":
                return keep_baseline(options["report"], options["baseline"], check_mode=bool(self._task.check_mode))
            if options["step"] == "search":
                return self._searched(options, task_vars)
            return self._qualified(options, task_vars)
        except AnsibleError:
            raise
        except Exception as error:
            return failed(error)

    def _qualified(self, options: Mapping[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        hosts = options["hosts"]
        baseline = read_baseline(options["baseline"])
        about = About(options["level"], _now(), options["device"], options["processes_per_node"])
        found = Found([], {host: {} for host in hosts})
        if not self._task.check_mode:
            longest = max(options["group_timeout"], LEVELS[options["level"]].training_seconds)
            over = over_nodes(self, options, task_vars, longest)
            found = qualify(hosts, _wishes(options), over)
        data = data_of(found, about, options["spares"])
        if baseline:
            data = held_against(data, baseline, options["regression"])
        out, breaker = kept_out(data, options["max_drained_fraction"])
        data["notes"] += [breaker] if breaker else []
        return {"changed": False, **literals({"data": data, "kept_out": out})}

    def _searched(self, options: Mapping[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Measure until it is known which nodes are bad."""
        if self._task.check_mode:
            return {"changed": False, "skipped": True, "msg": "Check mode: nothing was measured."}
        over = over_nodes(self, options, task_vars, options["group_timeout"])
        found = search(options["hosts"], options["tolerance"], options["expected"], over)
        return {"changed": False, **literals(found)}


def _wishes(options: Mapping[str, Any]) -> Wishes:
    level = LEVELS[options["level"]]
    about = {"level": options["level"], "device": options["device"], "detach": not options["follow"]}
    own = {**given(options["own"]), **about}
    return Wishes(
        stages=options["stages"],
        own=dict.fromkeys(options["hosts"], own),
        own_seconds=options["timeout"] or level.own_seconds,
        follow=options["follow"],
        compute=[*level.compute, *options["compute"]],
        pair_rounds=options["pair_rounds"] or level.pair_rounds,
        tolerance=options["tolerance"],
        text=options["text"],
        training_steps=options["training_steps"] or level.training_steps,
        training_seconds=level.training_seconds,
    )


def _refusal(options: Mapping[str, Any]) -> str:
    """One sentence for options that mean nothing; else empty."""
    if said := sizes_refusal(options["sizes"]) or tolerance_refusal(options):
        return said
    if options["expected"] < 0:
        return f"expected is {options['expected']:g}; give GB/s of bus bandwidth, or 0 if it is not known."
    if not 0 < options["regression"] < 1:
        return f"regression is {options['regression']:g}; give a fraction between 0 and 1, such as 0.05."
    if not 0 <= (fraction := options["max_drained_fraction"]) <= 1:
        return f"max_drained_fraction is {fraction:g}; give the fraction of the nodes, from 0 to 1, such as 0.1."
    if min(options["spares"], options["pair_rounds"], options["training_steps"], options["timeout"]) < 0:
        return "spares, pair_rounds, training_steps and timeout must be 0 or more; correct the negative one."
    return ""


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
