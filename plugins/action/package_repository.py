# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's half of the module: as the first task of a role it refuses what the role's options are not."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._role_action import RoleEntry


class ActionModule(RoleEntry):
    """See the documentation of the module ``gaudi3.scale.package_repository``."""
