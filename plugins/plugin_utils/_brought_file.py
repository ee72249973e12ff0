# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""A file of the controller on a node, in the task's own temporary directory, which Ansible removes."""

from __future__ import annotations

from ansible.plugins.action import ActionBase


def task_directory(action: ActionBase) -> str:
    """That directory, made where the task has none yet: a node that has everything never gets one."""
    if action._connection._shell.tmpdir is None:
        action._make_tmp_path()
    return str(action._connection._shell.tmpdir)


def bring(action: ActionBase, local: str, name: str) -> str:
    """Where the file ``local`` of the controller is on the node, as ``name``; the module may read it."""
    directory = task_directory(action)
    target = action._connection._shell.join_path(directory, name)
    action._transfer_file(local, target)
    action._fixup_perms2((directory, target))
    return str(target)
