# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module of the same name trial by trial, with a line on the screen for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._batch.probe.sentences import trial_line
from ansible_collections.gaudi3.scale.plugins.plugin_utils._module_answer import probe_answer
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import Kind
from ansible_collections.gaudi3.scale.plugins.plugin_utils._step_by_step import StepByStep


class ActionModule(StepByStep):
    """See the documentation of the module ``gaudi3.scale.hpu_batch_probe``."""

    MODULE = "gaudi3.scale.hpu_batch_probe"
    STEPS = "trials"

    def answer(self, arguments: Mapping[str, Any]) -> Kind:
        """What the module's RETURN says."""
        return probe_answer(arguments)

    def line(self, result: Mapping[str, Any]) -> str:
        """The trial, its number among all that are known, and what comes next."""
        trials = result["trials"]
        return trial_line(trials[-1], len(trials), result["next"])

    def has_ended(self, result: Mapping[str, Any]) -> bool:
        """Whether there is an answer."""
        return result["batch_size"] is not None
