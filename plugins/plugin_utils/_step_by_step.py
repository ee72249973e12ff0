# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""An action plugin that runs its module step by step, with a line on the screen for each step."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from ansible.utils.display import Display
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._module_answer import FAILURES
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import Kind, taken
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule

# Far more than a search or a comparison has: a node that never comes to its end is not asked for ever.
MOST_CALLS = 10_000


class StepByStep(NodeModule):
    """A module says nothing before its end, so each step is a call of its own.

    The node keeps the steps, and the next call goes on from them, as another run would do after an interruption. The
    module returns all steps under the name ``STEPS``, ``cached`` where it made none, and ``remarks`` for the operator.
    What a node answers comes in by one schema, ``answer``; a node that answers otherwise fails, and no other one.
    """

    TRANSFERS_FILES = False
    MODULE: str
    STEPS: str

    @abstractmethod
    def answer(self, arguments: Mapping[str, Any]) -> Kind:
        """What the module answers to these arguments where it does not fail."""

    @abstractmethod
    def line(self, result: Mapping[str, Any]) -> str:
        """What is shown of the last step."""

    @abstractmethod
    def has_ended(self, result: Mapping[str, Any]) -> bool:
        """Whether no step is left."""

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """The module's last result."""
        super().run(tmp, task_vars)

        def execute(arguments: dict[str, Any]) -> dict[str, Any]:
            reported: dict[str, Any] = self._execute_module(
                module_name=self.MODULE, module_args=arguments, task_vars=task_vars
            )
            return reported

        check_mode = bool(self._task.check_mode)
        return self.steps_of(task_vars["inventory_hostname"], dict(self._task.args), execute, check_mode=check_mode)

    def steps_of(
        self,
        host: str,
        arguments: dict[str, Any],
        execute: Callable[[dict[str, Any]], dict[str, Any]],
        *,
        check_mode: bool,
    ) -> dict[str, Any]:
        """The last result of ``execute``, which is the module on ``host``; shows a line for each step."""
        remarks: dict[str, None] = {}
        goes_on = False
        for _call in range(MOST_CALLS):
            result = self._answer(host, arguments, execute)
            for remark in result.get("remarks") or []:
                if remark not in remarks:
                    Display().warning(f"{host}: {remark}")
                remarks[remark] = None
            # No step was made where all was known, where the module failed, and in check mode.
            if check_mode or result.get("cached", True) or not result[self.STEPS]:
                break
            known = len(result[self.STEPS]) - 1
            if known and not goes_on:
                Display().display(f"  {host}: resuming after {known} {self.STEPS} from earlier runs")
            Display().display(f"  {host}: {self.line(result)}")
            if self.has_ended(result):
                break
            # The next call forgets nothing of what this one has found.
            arguments = {**arguments, "refresh": False}
            goes_on = True
        return {**result, "remarks": list(remarks)}

    def _answer(
        self, host: str, arguments: dict[str, Any], execute: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> dict[str, Any]:
        reported = execute(dict(arguments))
        kind = FAILURES[self.STEPS] if reported.get("failed") else self.answer(arguments)
        try:
            result: dict[str, Any] = taken(host, self.MODULE, kind, reported)
        except GaudiError as error:
            return {"failed": True, "changed": False, "msg": str(error)}
        if reported.get("failed"):
            # ansible-core 2.19 and newer give a module that broke no other word.
            result.setdefault("msg", result.get("exception", "no message"))
        return result
