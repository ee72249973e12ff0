# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The controller's half of the modules that roles are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.plugins.action.normal import ActionModule as Normal
from ansible_collections.gaudi3.scale.plugins.plugin_utils._no_answer import answered
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_module import NodeModule
from ansible_collections.gaudi3.scale.plugins.plugin_utils._package_lock import seconds, when_free
from ansible_collections.gaudi3.scale.plugins.plugin_utils._plain_arguments import NOT_PLAIN, OMITTED, plain_argument
from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_check import (
    role_of,
    role_refusal,
    roles_here,
    system_facts,
)


class PlainArguments(NodeModule):
    """Takes what an argument names as it is, where that is no template."""

    @classmethod
    def finalize_task_arg(cls, name: Any, value: Any, templar: Any, *others: Any, **named: Any) -> Any:
        """ansible-core 2.19 and newer ask this for each argument; older ones never do."""
        from ansible.errors import AnsibleValueOmittedError
        from ansible.template import is_trusted_as_template

        # What a node has said is text, also where it looks like a name in braces.
        if is_trusted_as_template(value):
            found = plain_argument(value, getattr(templar, "available_variables", {}), is_trusted_as_template)
            if found is OMITTED:
                raise AnsibleValueOmittedError
            if found is not NOT_PLAIN:
                return found
        return super().finalize_task_arg(name, value, templar, *others, **named)


class RoleStep(PlainArguments, Normal):
    """The action of a module that roles call, which runs the module and nothing else.

    While another package manager is at work it says who that is, and runs the module again.
    """

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """The module's result."""

        def execute() -> dict[str, Any]:
            done: dict[str, Any] = super(RoleStep, self).run(tmp, task_vars)  # type: ignore[no-untyped-call]
            return done

        return when_free(task_vars["inventory_hostname"], seconds(self._task.args.get("lock_timeout")), execute)


class RoleEntry(RoleStep):
    """The action of a module that is the first task of a role; elsewhere it runs the module and nothing else."""

    # Whether options of all roles are refused where they are unknown, which is the first role's to do.
    ALL_NAMES = False
    # Whether later tasks of the role have to know what the operating system is.
    NEEDS_SYSTEM = False

    def nothing_to_do(self) -> str:
        """Why the node need not be asked, by the module's arguments; empty where it has to be."""
        return ""

    def run(self, tmp: Any = None, task_vars: Any = None) -> dict[str, Any]:
        """Refuse what the role's options are not, then run the module on the node."""
        if self._task._role:
            refused = role_refusal(self, task_vars, roles_here() if self.ALL_NAMES else role_of(self))
            if refused:
                return refused
        nothing = self.nothing_to_do()
        if nothing:
            return {"changed": False, "skipped": True, "skip_reason": nothing}
        host = str((task_vars or {}).get("inventory_hostname"))
        facts = system_facts(self, task_vars) if self.NEEDS_SYSTEM and self._task._role else {}
        if facts.get("failed") or facts.get("unreachable"):
            return facts
        done = answered(lambda: super(RoleEntry, self).run(tmp, task_vars), host)
        return joined(facts, done)


def joined(facts: Mapping[str, Any], done: Mapping[str, Any]) -> dict[str, Any]:
    """A module's result with the facts that were asked for before it.

    Ansible adds the interpreter that it has found to the facts of every module of the task, so these are joined. A
    failure has none: the screen shows all of a failed result, a hundred lines of facts above the reason.
    """
    if done.get("failed") or done.get("unreachable"):
        return {name: value for name, value in done.items() if name != "ansible_facts"}
    both = {**facts.get("ansible_facts", {}), **done.get("ansible_facts", {})}
    return {**done, **({"ansible_facts": both} if both else {})}
