# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An action plugin that runs its module step by step, with a line on the screen for each step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display


class StepByStep(ActionBase):
    """A module says nothing before its end, so each step is a call of its own.

    The node keeps the steps, and the next call goes on from them, as another run would do after an interruption. The
    module returns all steps under the name ``STEPS``, ``cached`` where it made none, and ``remarks`` for the operator.
    """

    TRANSFERS_FILES = False
    MODULE: str
    STEPS: str

    @abstractmethod
    def line(self, result: Mapping[str, Any]) -> str:
        """What is shown of the last step."""

    @abstractmethod
    def has_ended(self, result: Mapping[str, Any]) -> bool:
        """Whether no step is left."""

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """The module's last result."""
        super().run(tmp, task_vars)
        host = task_vars["inventory_hostname"]
        arguments = dict(self._task.args)
        remarks: dict[str, None] = {}
        goes_on = False
        while True:
            result = self._execute_module(module_name=self.MODULE, module_args=arguments, task_vars=task_vars)
            for remark in result.get("remarks") or []:
                if remark not in remarks:
                    Display().warning(f"{host}: {remark}")
                remarks[remark] = None
            # No step was made where all was known, where the module failed, and in check mode.
            if self._task.check_mode or result.get("cached", True):
                break
            known = len(result[self.STEPS]) - 1
            if known and not goes_on:
                Display().display(f"  {host}: going on after {known} {self.STEPS} that are known")
            Display().display(f"  {host}: {self.line(result)}")
            if self.has_ended(result):
                break
            # The next call forgets nothing of what this one has found.
            arguments["refresh"] = False
            goes_on = True
        return {**result, "remarks": list(remarks)}
