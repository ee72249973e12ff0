# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module of the same name run by run, with a line on the screen for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._compare.sentences import run_line
from ansible_collections.gaudi3.scale.plugins.plugin_utils._module_answer import comparison_answer
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import Kind
from ansible_collections.gaudi3.scale.plugins.plugin_utils._step_by_step import StepByStep


class ActionModule(StepByStep):
    """See the documentation of the module ``gaudi3.scale.hpu_compare_settings``."""

    MODULE = "gaudi3.scale.hpu_compare_settings"
    STEPS = "runs"

    def answer(self, arguments: Mapping[str, Any]) -> Kind:
        """What the module's RETURN says."""
        return comparison_answer(arguments)

    def line(self, result: Mapping[str, Any]) -> str:
        """The run, its number among all that are known, and its round."""
        runs = result["runs"]
        return run_line(runs[-1], len(runs), int(self._task.args.get("rounds", 10)))

    def has_ended(self, result: Mapping[str, Any]) -> bool:
        """Whether every setting has its verdict."""
        return result["next"] is None
