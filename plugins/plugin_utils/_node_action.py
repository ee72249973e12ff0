# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""An action plugin that works on several nodes in one task."""

from __future__ import annotations

import copy
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import become_loader, connection_loader


class UnreachableError(Exception):
    """The node did not answer."""


class NodeAction:
    """Runs modules and commands on one node of the inventory, with that node's own connection and become settings.

    A task can be delegated to one host, and a loop over hosts shows nothing before its end. So the connection is made
    here, in the steps of ``TaskExecutor._get_connection`` and ``_set_connection_options`` (ansible-core 2.17 to 2.21).
    """

    def __init__(self, action: ActionBase, host: str, task_vars: dict[str, Any]) -> None:
        self._variables = dict(task_vars["hostvars"][host])
        self._action = copy.copy(action)
        self._action._play_context = action._play_context.copy().set_task_and_variable_override(
            task=action._task, variables=self._variables, templar=action._templar
        )
        self._action._connection = _connection(self._action, self._variables)

    def module(self, name: str, arguments: dict[str, Any], timeout: float) -> dict[str, Any]:
        """The result of a module; raises UnreachableError."""
        with _answer_within(timeout):
            result: dict[str, Any] = self._action._execute_module(
                module_name=name, module_args=arguments, task_vars=self._variables, wrap_async=False
            )
        if result.get("unreachable"):
            raise UnreachableError(str(result.get("msg", "")))
        return result

    def command(self, command: str, timeout: float, *, as_become_user: bool) -> str:
        """The standard output of a shell command, a tenth of a module's cost; raises UnreachableError."""
        with _answer_within(timeout):
            return str(self._action._low_level_execute_command(command, sudoable=as_become_user)["stdout"])


def job_info(node: NodeAction, arguments: dict[str, Any], timeout: float) -> dict[str, Any]:
    """What ``node`` says of a job; raises UnreachableError also where it could not find out, as without memory."""
    info = node.module("gaudi3.scale.training_job_info", arguments, timeout)
    if info.get("failed"):
        raise UnreachableError(str(info.get("msg")))
    return info


@contextmanager
def _answer_within(seconds: float) -> Iterator[None]:
    """Ends what takes longer: a node that lost its power leaves an open SSH connection waiting for ever."""

    def expire(*_: object) -> None:
        raise UnreachableError(f"no answer within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, expire)
    # Again and again, since a connection plugin may take the first one for a reason to try once more. Whatever timer
    # the task's own `timeout` has set goes on afterwards.
    start, left = time.monotonic(), signal.setitimer(signal.ITIMER_REAL, seconds, seconds)[0]
    try:
        yield
    except AnsibleConnectionFailure as error:
        raise UnreachableError(str(error)) from error
    finally:
        signal.setitimer(signal.ITIMER_REAL, max(0.001, left - (time.monotonic() - start)) if left else 0)
        signal.signal(signal.SIGALRM, before)


def _connection(action: ActionBase, variables: dict[str, Any]) -> Any:
    context = action._play_context
    connection = connection_loader.get(
        variables.get("ansible_connection") or action._task.connection,
        context,
        new_stdin=None,
        task_uuid=action._task._uuid,
        ansible_playbook_pid=str(os.getppid()),
    )
    become = variables.get("ansible_become")
    if action._task.become if become is None else become in (True, "true", "yes", "1"):
        method = variables.get("ansible_become_method") or action._task.become_method
        connection.set_become_plugin(become_loader.get(method))
        context.set_become_plugin(method)
    keys = action._task.dump_attrs()
    keys["timeout"] = context.timeout
    # Those of the task, which are no option of a connection.
    del keys["retries"]
    if context.password:
        keys["password"] = context.password
    connection.set_options(task_keys=keys, var_options=variables)
    connection._shell.set_options(task_keys=keys, var_options=variables)
    if connection.become is not None:
        if context.become_pass:
            keys["become_pass"] = context.become_pass
        connection.become.set_options(task_keys=keys, var_options=variables)
    return connection
