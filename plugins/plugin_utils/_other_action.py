# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Another action run in the place of a task's own, as Ansible's ``template`` runs its ``copy``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.plugins.action import ActionBase


def other_action(action: ActionBase, name: str, arguments: Mapping[str, Any], variables: Any) -> dict[str, Any]:
    """The result of the action ``name`` with ``arguments``, for the host of ``action``."""
    task = action._task.copy()
    task.args = dict(arguments)
    other = action._shared_loader_obj.action_loader.get(
        name,
        task=task,
        connection=action._connection,
        play_context=action._play_context,
        loader=action._loader,
        templar=action._templar,
        shared_loader_obj=action._shared_loader_obj,
    )
    return dict(other.run(task_vars=variables))
