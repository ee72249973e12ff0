# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The door through which each answer of a node comes to the controller, whatever configuration Ansible has."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import Context
from functools import partial
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.screen_text import lines_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._foreign_facts import foreign_facts
from ansible_collections.gaudi3.scale.plugins.plugin_utils._leading_on import leading_on
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import taken
from ansible_collections.gaudi3.scale.plugins.plugin_utils._returned import COLLECTION, FACTS, taken_answer
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_check import specified_here
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_words import in_role_words


def refuse_nul(options: Mapping[str, Any]) -> None:
    """Fails the task for a text that no path and no program can have."""
    for name, value in options.items():
        if "\0" in str(value):
            raise AnsibleActionFail(f"{name} contains a NUL character; remove it.")


class NodeModule(ActionBase):
    """Runs modules, and takes of what they answer what their RETURN has; a node that answers otherwise has failed.

    Each action of the collection is one, also those that ask no node: what fails in ``run`` leads on to a page.
    """

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        if "run" in vars(cls):
            cls.run = leading_on(cls.run)  # type: ignore[method-assign]

    def validate_argument_spec(self, *arguments: Any, **named: Any) -> Any:
        """As Ansible's own; a refusal has no character that a terminal obeys, whatever the option was."""
        try:
            found = super().validate_argument_spec(*arguments, **named)  # type: ignore[no-untyped-call]
        except AnsibleError as error:
            refusal = lines_of(str(error))
        else:
            refuse_nul(found[1])
            return found
        # Not in there: Ansible shows what a failure comes from, and before 2.19 that is what is being handled.
        raise AnsibleActionFail(refusal)

    def _execute_module(self, module_name: Any = None, *others: Any, **named: Any) -> dict[str, Any]:
        name = str(module_name or self._task.action)
        variables = named.get("task_vars") or {}
        host = str(variables.get("inventory_hostname", ""))
        refusal = foreign_facts(host, variables.get(FACTS) or {})
        if refusal:
            return {"failed": True, "changed": False, "msg": refusal}
        # From 2.21 on Ansible keeps for its screen what a node warns of while it reads the answer, past this door, and
        # puts its own remarks into the answer. In a context that knows no task, it does neither.
        done: dict[str, Any] = Context().run(partial(super()._execute_module, module_name, *others, **named))
        if not name.startswith(COLLECTION):
            return done
        return self._in_role_words(self._taken(host, name.removeprefix(COLLECTION), done))

    def _taken(self, host: str, module: str, done: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = taken(host, COLLECTION + module, partial(taken_answer, module), done)
        except GaudiError as error:
            return {"failed": True, "changed": False, "msg": str(error)}
        if "warnings" in answer:
            # By the inventory's name: what the node calls itself need not be that, and need not be true.
            answer["warnings"] = [f"{host}: {warning}" for warning in answer["warnings"]]
        # Ansible finds a Python by itself, and tells with a fact which.
        found = self._discovered_interpreter_key
        if found:
            answer[FACTS] = {**answer.get(FACTS, {}), found: self._discovered_interpreter}
        return answer

    def _in_role_words(self, answer: dict[str, Any]) -> dict[str, Any]:
        """A refusal names the option that the operator wrote: the role's, where a role asked."""
        message = answer.get("msg")
        if not answer.get("failed") or not isinstance(message, str):
            return answer
        for role in specified_here(self):
            answer["msg"] = in_role_words(message, role.prefix, role.options, role.shared)
        return answer
