# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""The door through which a failure of an action leaves: it names the page that says more."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible_collections.gaudi3.scale.plugins.module_utils._node.pages import SEE, page_about, see_also

Run = Callable[..., dict[str, Any]]
# Where an exception keeps what it adds to the task's result: since ansible-core 2.19, and before.
_RESULTS = ("_result", "result")


def leading_on(run: Run) -> Run:
    """``run`` of an action, whose failure says where more is written; what a node has said of that is not kept."""

    @functools.wraps(run)
    def leads_on(self: Any, *given: Any, **named: Any) -> dict[str, Any]:
        try:
            result = run(self, *given, **named)
        except AnsibleActionFail as error:
            for name in _RESULTS:
                vars(error).get(name, {})[SEE] = _see(self._task)
            raise
        return {**result, SEE: _see(self._task)} if result.get("failed") else result

    return leads_on


def _see(task: Any) -> str:
    """The page of the task's role, or else of its module: as the fleet's screen has it."""
    return see_also(page_about(task._role.get_name() if task._role else "", task.action))
